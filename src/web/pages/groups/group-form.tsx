import { TextArea, TextField } from "../../components/fields.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { fieldError } from "../editing/field-error.ts"
import type { GroupDraft } from "./group-draft.ts"
import "../editing/editing.css"

interface GroupFieldsProps {
  draft: GroupDraft
  onDraft: (fields: Partial<GroupDraft>) => void
  error: unknown
}

export function GroupFields({ draft, onDraft, error }: GroupFieldsProps) {
  const { groups } = resourceTexts
  return (
    <>
      <TextField
        label={groups.comment}
        value={draft.Comment}
        onValue={(Comment) => onDraft({ Comment })}
        maxLength={2000}
        {...fieldError(error, "Comment")}
      />
      <TextArea
        label={groups.members}
        hint={groups.membersHint}
        value={draft.Members}
        onValue={(Members) => onDraft({ Members })}
        rows={8}
        spellCheck={false}
        autoCapitalize="none"
        {...fieldError(error, "Members")}
      />
    </>
  )
}

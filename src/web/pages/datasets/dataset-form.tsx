import { DocField } from "../../components/doc-field.tsx"
import { TextField } from "../../components/fields.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { fieldError } from "../editing/field-error.ts"
import { renderDocImage } from "../files/preview/doc-image.tsx"
import type { DatasetDraft } from "./dataset-draft.ts"
import "../editing/editing.css"

interface FieldsProps {
  draft: DatasetDraft
  onDraft: (fields: Partial<DatasetDraft>) => void
  error: unknown
}

const { datasets } = resourceTexts

export function DatasetFields({ draft, onDraft, error }: FieldsProps) {
  return (
    <>
      <TextField
        label={datasets.name}
        value={draft.Name}
        onValue={(Name) => onDraft({ Name })}
        maxLength={200}
        autoComplete="off"
        required
        {...fieldError(error, "Name")}
      />
      <TextField
        label={datasets.comment}
        hint={datasets.commentHint}
        value={draft.Comment}
        onValue={(Comment) => onDraft({ Comment })}
        maxLength={2000}
        {...fieldError(error, "Comment")}
      />
      <TextField
        label={datasets.place}
        hint={datasets.placeHint}
        value={draft.AccessInfo}
        onValue={(AccessInfo) => onDraft({ AccessInfo })}
        spellCheck={false}
        autoComplete="off"
        {...fieldError(error, "AccessInfo")}
      />
      <DocField
        label={datasets.doc}
        value={draft.Doc}
        onValue={(Doc) => onDraft({ Doc })}
        renderImage={draft.AccessInfo.startsWith("/") ? (image) => renderDocImage(draft.AccessInfo, image) : undefined}
        {...fieldError(error, "Doc")}
      />
    </>
  )
}

import { Checkbox } from "../../components/checkbox.tsx"
import { DocField } from "../../components/doc-field.tsx"
import { TextArea, TextField } from "../../components/fields.tsx"
import { Section } from "../../components/page.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { fieldError } from "../editing/field-error.ts"
import type { ImageDraft } from "./image-draft.ts"
import "../editing/editing.css"

interface DraftProps {
  draft: ImageDraft
  onDraft: (fields: Partial<ImageDraft>) => void
  error: unknown
}

const { images } = resourceTexts

export function ImageFields({ draft, onDraft, error, isAdmin }: DraftProps & { isAdmin: boolean }) {
  return (
    <>
      <TextField
        label={images.reference}
        hint={images.referenceHint}
        value={draft.Image}
        onValue={(Image) => onDraft({ Image })}
        spellCheck={false}
        autoComplete="off"
        required
        {...fieldError(error, "Image")}
      />
      <TextField
        label={images.name}
        value={draft.Name}
        onValue={(Name) => onDraft({ Name })}
        maxLength={200}
        autoComplete="off"
        required
        {...fieldError(error, "Name")}
      />
      <TextField
        label={images.comment}
        value={draft.Comment}
        onValue={(Comment) => onDraft({ Comment })}
        maxLength={2000}
        {...fieldError(error, "Comment")}
      />
      <DocField label={images.doc} value={draft.Doc} onValue={(Doc) => onDraft({ Doc })} {...fieldError(error, "Doc")} />
      <StartFields draft={draft} onDraft={onDraft} error={error} />
      {isAdmin && <AdminFields draft={draft} onDraft={onDraft} error={error} />}
    </>
  )
}

function StartFields({ draft, onDraft, error }: DraftProps) {
  return (
    <Section title={images.further}>
      <div className="stack">
        <TextField
          label={images.command}
          hint={images.commandHint}
          value={draft.Command}
          onValue={(Command) => onDraft({ Command })}
          spellCheck={false}
          {...fieldError(error, "Command")}
        />
        <TextField
          label={images.port}
          hint={images.portHint}
          value={draft.Port}
          onValue={(Port) => onDraft({ Port })}
          maxLength={16}
          {...fieldError(error, "Port")}
        />
        <TextArea
          label={images.env}
          hint={images.envHint}
          value={draft.Env}
          onValue={(Env) => onDraft({ Env })}
          spellCheck={false}
          {...fieldError(error, "Env")}
        />
      </div>
    </Section>
  )
}

function AdminFields({ draft, onDraft, error }: DraftProps) {
  return (
    <Section title={images.administrators}>
      <div className="stack">
        <Checkbox
          label={images.trusted}
          hint={images.trustedHint}
          isChecked={draft.IsTrusted}
          onChecked={(IsTrusted) => onDraft({ IsTrusted })}
        />
        <Checkbox
          label={images.keepPresent}
          hint={images.keepPresentHint}
          isChecked={draft.KeepPresent}
          onChecked={(KeepPresent) => onDraft({ KeepPresent })}
        />
        <TextArea
          label={images.writablePaths}
          hint={images.writablePathsHint}
          value={draft.WritablePaths}
          onValue={(WritablePaths) => onDraft({ WritablePaths })}
          spellCheck={false}
          {...fieldError(error, "WritablePaths")}
        />
      </div>
    </Section>
  )
}

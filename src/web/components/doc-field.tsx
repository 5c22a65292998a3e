import { useState } from "react"
import { resourceTexts } from "../text/resources.ts"
import { Button } from "./button.tsx"
import { type FieldProps, TextArea } from "./fields.tsx"
import { Markdown } from "./markdown/markdown.tsx"
import "./forms.css"

/** Markdown to write, with a preview of how it reads. */
export function DocField({ value, onValue, error, label }: FieldProps & { value: string; onValue: (value: string) => void }) {
  const [isPreview, setPreview] = useState(false)
  const { editing } = resourceTexts
  return (
    <div className="doc-field">
      <Button size="small" kind="plain" aria-pressed={isPreview} onClick={() => setPreview(!isPreview)}>
        {isPreview ? editing.write : editing.preview}
      </Button>
      {isPreview ? (
        <section className="card" aria-label={editing.preview}>
          {value.trim() === "" ? <p className="quiet">{editing.noText}</p> : <Markdown text={value} />}
        </section>
      ) : (
        <TextArea label={label} hint={editing.markdownHint} error={error} value={value} onValue={onValue} rows={12} spellCheck />
      )}
    </div>
  )
}

import { useState } from "react"
import { resourceTexts } from "../text/resources.ts"
import { Button } from "./button.tsx"
import { type FieldProps, TextArea } from "./fields.tsx"
import { maxPieceLength } from "./long-text/text-pieces.ts"
import { Markdown, type RenderImage } from "./markdown/markdown.tsx"
import "./forms.css"

interface DocFieldProps extends FieldProps {
  value: string
  onValue: (value: string) => void
  /** Renders images of the preview; default: they show as links. */
  renderImage?: RenderImage | undefined
}

/** The field grows with its text, so that an empty one takes little of a form. */
function rowsOf(text: string): number {
  return Math.min(18, Math.max(5, text.split("\n").length + 1))
}

/** Whether a control could take seconds to lay out a line that somebody else wrote. */
function hasLongLine(text: string): boolean {
  return text.split("\n").some((line) => line.length > maxPieceLength)
}

/** Markdown to write, with a preview of how it reads. */
export function DocField({ value, onValue, error, label, renderImage }: DocFieldProps) {
  const [isPreview, setPreview] = useState(hasLongLine(value))
  const { editing } = resourceTexts
  return (
    <div className="doc-field">
      <Button size="small" kind="plain" aria-pressed={isPreview} onClick={() => setPreview(!isPreview)}>
        {isPreview ? editing.write : editing.preview}
      </Button>
      {isPreview ? (
        <section className="card" aria-label={editing.preview}>
          {value.trim() === "" ? <p className="quiet">{editing.noText}</p> : <Markdown text={value} renderImage={renderImage} />}
        </section>
      ) : (
        <TextArea label={label} hint={editing.markdownHint} error={error} value={value} onValue={onValue} rows={rowsOf(value)} spellCheck />
      )}
    </div>
  )
}

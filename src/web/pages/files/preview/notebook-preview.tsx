import { useMemo } from "react"
import { Note } from "../../../components/feedback.tsx"
import { LongText } from "../../../components/long-text/long-text.tsx"
import { CodeBlock } from "../../../components/markdown/code-block.tsx"
import { Markdown } from "../../../components/markdown/markdown.tsx"
import { RenderBudgetContext, useRenderBudget } from "../../../components/markdown/render-budget-context.ts"
import { files } from "../../../text/files.ts"
import { BoundedImage } from "./bounded-image.tsx"
import { renderDocImage } from "./doc-image.tsx"
import { parseNotebook } from "./notebook.ts"

/** The cells of a notebook with their outputs. `directory`: the notebook's own, for its images. */
export function NotebookPreview({ text, directory }: { text: string; directory: string }) {
  const notebook = useMemo(() => parseNotebook(text), [text])
  const budget = useRenderBudget(text)
  if (!notebook) return <Note tone="warn">{files.preview.broken}</Note>
  return (
    <RenderBudgetContext value={budget}>
      <div className="stack preview-text">
        {notebook.cells.map(({ kind, source, outputs }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: cells never move
          <div key={i} className="stack">
            {kind === "markdown" && <Markdown text={source} renderImage={(image) => renderDocImage(directory, image)} />}
            {kind === "code" && <CodeBlock text={source} language={notebook.language} />}
            {kind === "raw" && (
              <pre className="notebook-text" data-wrap="">
                <LongText text={source} />
              </pre>
            )}
            {outputs.map(({ text: output, imageUrl }, j) =>
              imageUrl ? (
                // biome-ignore lint/suspicious/noArrayIndexKey: outputs never move
                <BoundedImage key={j} src={imageUrl} alt={files.preview.output} />
              ) : (
                // biome-ignore lint/suspicious/noArrayIndexKey: outputs never move
                <pre key={j} className="notebook-output" data-wrap="">
                  <LongText text={output ?? ""} />
                </pre>
              ),
            )}
          </div>
        ))}
      </div>
    </RenderBudgetContext>
  )
}

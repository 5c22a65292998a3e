import { useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { download, type FileEntry, readStart } from "../../api/files-address.ts"
import { formatBytes } from "../../api/formats.ts"
import { Button } from "../../components/button.tsx"
import { Loaded, Note } from "../../components/feedback.tsx"
import { Dialog } from "../../components/overlays.tsx"
import { showError } from "../../components/toast.tsx"
import { files } from "../../text/files.ts"
import { parseCsv } from "./csv.ts"
import { parseNotebook } from "./notebook.ts"

const maxTextBytes = 262_144
const maxNotebookBytes = 8 * 2 ** 20
const maxImageBytes = 32 * 2 ** 20
const maxRows = 200

const imageTypes: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
}

type Kind = "image" | "table" | "notebook" | "text"
const limits: Readonly<Record<Kind, number>> = { image: maxImageBytes, table: maxTextBytes, notebook: maxNotebookBytes, text: maxTextBytes }

const extensionOf = (name: string): string => name.slice(name.lastIndexOf(".") + 1).toLowerCase()

function kindOf(name: string): Kind {
  const extension = extensionOf(name)
  if (extension in imageTypes) return "image"
  if (extension === "ipynb") return "notebook"
  return extension === "csv" || extension === "tsv" ? "table" : "text"
}

/** Shows the beginning of a file. All of it is text or an image: nothing in it can run. */
export function Preview({ path, entry, onClose }: { path: string; entry: FileEntry; onClose: () => void }) {
  const kind = kindOf(entry.Name)
  const size = entry.Size ?? 0
  const isTooLarge = kind === "image" && size > limits.image
  const content = useQuery({
    queryKey: ["file", path, entry.ETag],
    queryFn: ({ signal }) => readStart(path, limits[kind], signal),
    enabled: !isTooLarge,
    gcTime: 0,
  })
  return (
    <Dialog title={entry.Name} size="wide" isOpen onClose={onClose}>
      {isTooLarge ? (
        <p>{files.preview.tooLarge(formatBytes(limits.image))}</p>
      ) : (
        <Loaded query={content} height={12}>
          {(blob) =>
            kind === "image" ? <ImagePreview name={entry.Name} blob={blob} /> : <TextPreview kind={kind} name={entry.Name} blob={blob} />
          }
        </Loaded>
      )}
      {kind !== "image" && size > limits[kind] && <p className="quiet small">{files.preview.truncated(formatBytes(limits[kind]))}</p>}
      <div className="row row-end">
        <Button icon="download" onClick={() => void download(path).catch(showError)}>
          {files.download}
        </Button>
      </div>
    </Dialog>
  )
}

function ImagePreview({ name, blob }: { name: string; blob: Blob }) {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([blob], { type: imageTypes[extensionOf(name)] ?? "" }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob, name])
  return url ? <img className="preview-image" src={url} alt={name} /> : null
}

function TextPreview({ kind, name, blob }: { kind: Kind; name: string; blob: Blob }) {
  const [text, setText] = useState<string>()
  useEffect(() => {
    void blob.text().then(setText)
  }, [blob])
  if (text === undefined) return null
  if (text.includes("\0")) return <p className="quiet">{files.preview.none}</p>
  if (kind === "table") return <TablePreview text={text} separator={extensionOf(name) === "tsv" ? "\t" : ","} />
  if (kind === "notebook") return <NotebookPreview text={text} />
  return (
    <pre className="code-block preview-text" data-wrap="">
      {text}
    </pre>
  )
}

function TablePreview({ text, separator }: { text: string; separator: string }) {
  const [head = [], ...rows] = parseCsv(text, { separator, maxRows })
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard
    <section className="table-frame preview-text" aria-label={files.title} tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            {head.map((title, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns never move
              <th key={i} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows never move
            <tr key={i}>
              {row.map((cell, j) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns never move
                <td key={j}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function NotebookPreview({ text }: { text: string }) {
  const cells = parseNotebook(text)
  if (!cells) return <Note tone="warn">{files.preview.broken}</Note>
  return (
    <div className="stack preview-text">
      {cells.map((cell, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: cells never move
        <div key={i} className="stack">
          <pre className={cell.kind === "code" ? "code-block" : "notebook-text"} data-wrap="">
            {cell.source}
          </pre>
          {cell.outputs.map(({ text: output, imageUrl }, j) =>
            imageUrl ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: outputs never move
              <img key={j} className="preview-image" src={imageUrl} alt={files.preview.output} />
            ) : (
              // biome-ignore lint/suspicious/noArrayIndexKey: outputs never move
              <pre key={j} className="notebook-output" data-wrap="">
                {output}
              </pre>
            ),
          )}
        </div>
      ))}
    </div>
  )
}

import { useQuery } from "@tanstack/react-query"
import { Suspense, useEffect, useState } from "react"
import { download, type FileEntry, readFirstBytes } from "../../../api/files-client.ts"
import { formatBytes } from "../../../api/formats.ts"
import { Button } from "../../../components/button.tsx"
import { safeDisplayName } from "../../../components/display-name.ts"
import { Loaded, Skeleton } from "../../../components/feedback.tsx"
import { lazyComponent } from "../../../components/lazy-component.ts"
import { LongText } from "../../../components/long-text/long-text.tsx"
import { Markdown } from "../../../components/markdown/markdown.tsx"
import { Dialog } from "../../../components/overlays.tsx"
import { showError } from "../../../components/toast.tsx"
import { files } from "../../../text/files.ts"
import { BoundedImage } from "./bounded-image.tsx"
import { parseCsv } from "./csv.ts"
import { DataTable } from "./data-table.tsx"
import { renderDocImage } from "./doc-image.tsx"
import { extensionOf, imageTypeOf } from "./image-types.ts"
import { NotebookPreview } from "./notebook-preview.tsx"
import { PdfPreview } from "./pdf-preview.tsx"
import { useObjectUrl } from "./use-object-url.ts"

const maxTextBytes = 262_144
const maxNotebookBytes = 8 * 2 ** 20
const maxImageBytes = 32 * 2 ** 20
const maxPdfBytes = 64 * 2 ** 20
const maxRows = 200

/** Kinds of which the first bytes are read. */
type Kind = "image" | "pdf" | "table" | "notebook" | "markdown" | "text"
const limits: Readonly<Record<Kind, number>> = {
  image: maxImageBytes,
  pdf: maxPdfBytes,
  table: maxTextBytes,
  notebook: maxNotebookBytes,
  markdown: maxTextBytes,
  text: maxTextBytes,
}
const kinds: Readonly<Record<string, Kind>> = {
  pdf: "pdf",
  ipynb: "notebook",
  csv: "table",
  tsv: "table",
  md: "markdown",
  markdown: "markdown",
}

function kindOf(name: string): Kind {
  const extension = extensionOf(name)
  if (imageTypeOf(name)) return "image"
  return Object.hasOwn(kinds, extension) ? (kinds[extension] as Kind) : "text"
}

/** Loads when somebody looks at such a table. */
const ParquetPreview = lazyComponent(() => import("./parquet-preview.tsx"), "ParquetPreview")

/** Shows the beginning of a file. Nothing in it can run in this page. */
export function Preview({ path, entry, onClose }: { path: string; entry: FileEntry; onClose: () => void }) {
  return (
    <Dialog title={safeDisplayName(entry.Name)} size="wide" isOpen onClose={onClose}>
      {extensionOf(entry.Name) === "parquet" ? (
        <Suspense fallback={<Skeleton height={12} />}>
          <ParquetPreview path={path} entry={entry} />
        </Suspense>
      ) : (
        <StartPreview path={path} entry={entry} kind={kindOf(entry.Name)} />
      )}
      <div className="row row-end">
        <Button icon="download" onClick={() => void download(path).catch(showError)}>
          {files.download}
        </Button>
      </div>
    </Dialog>
  )
}

function StartPreview({ path, entry, kind }: { path: string; entry: FileEntry; kind: Kind }) {
  const size = entry.Size ?? 0
  const needsAll = kind === "image" || kind === "pdf"
  const isCut = size > limits[kind]
  const content = useQuery({
    queryKey: ["file", path, entry.ETag],
    queryFn: ({ signal }) => readFirstBytes(path, limits[kind], signal),
    enabled: !(needsAll && isCut),
    gcTime: 0,
  })
  if (needsAll && isCut) return <p>{files.preview.tooLarge(formatBytes(limits[kind]))}</p>
  return (
    <>
      <Loaded query={content} height={12}>
        {(blob) => <ContentPreview kind={kind} path={path} blob={blob} />}
      </Loaded>
      {isCut && <p className="quiet small">{files.preview.truncated(formatBytes(limits[kind]))}</p>}
    </>
  )
}

function ContentPreview({ kind, path, blob }: { kind: Kind; path: string; blob: Blob }) {
  const name = path.slice(path.lastIndexOf("/") + 1)
  if (kind === "image") return <ImagePreview name={name} blob={blob} />
  if (kind === "pdf") return <PdfPreview name={name} blob={blob} />
  return <TextPreview kind={kind} path={path} blob={blob} />
}

function ImagePreview({ name, blob }: { name: string; blob: Blob }) {
  const url = useObjectUrl(blob, imageTypeOf(name) ?? "")
  return url ? <BoundedImage src={url} alt={name} /> : null
}

function TextPreview({ kind, path, blob }: { kind: Kind; path: string; blob: Blob }) {
  const [text, setText] = useState<string>()
  useEffect(() => {
    void blob.text().then(setText)
  }, [blob])
  if (text === undefined) return null
  if (text.includes("\0")) return <p className="quiet">{files.preview.none}</p>
  if (kind === "table") return <TablePreview text={text} separator={extensionOf(path) === "tsv" ? "\t" : ","} />
  const directory = path.slice(0, path.lastIndexOf("/"))
  if (kind === "notebook") return <NotebookPreview text={text} directory={directory} />
  if (kind === "markdown")
    return (
      <div className="preview-text">
        <Markdown text={text} renderImage={(image) => renderDocImage(directory, image)} />
      </div>
    )
  return (
    <pre className="code-block preview-text" data-wrap="">
      <LongText text={text} />
    </pre>
  )
}

function TablePreview({ text, separator }: { text: string; separator: string }) {
  const [head = [], ...rows] = parseCsv(text, { separator, maxRows })
  return <DataTable head={head} rows={rows} />
}

import { Note } from "../../../components/feedback.tsx"
import { files } from "../../../text/files.ts"
import { useObjectUrl } from "./use-object-url.ts"

/**
 * A PDF in the browser's own viewer, which runs apart from this page. The blob's type is fixed: the
 * frame shows nothing else.
 */
export function PdfPreview({ name, blob }: { name: string; blob: Blob }) {
  const url = useObjectUrl(blob, "application/pdf")
  if (!navigator.pdfViewerEnabled) return <Note>{files.preview.noPdfViewer}</Note>
  return url ? <iframe className="preview-pdf" src={url} title={name} /> : null
}

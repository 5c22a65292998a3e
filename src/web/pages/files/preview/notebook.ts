/** A notebook as it is shown. */
interface Notebook {
  /** The language of its code. */
  language: string
  cells: NotebookCell[]
}
interface NotebookCell {
  /** `raw` also for sources beyond the amount that is rendered or coloured. */
  kind: "markdown" | "code" | "raw"
  source: string
  outputs: { text?: string; imageUrl?: string }[]
}

const maxCells = 300
const maxOutputs = 100
/** Characters of all cells together that are rendered as Markdown, or coloured. */
const maxRendered = 262_144

/** The cells of a notebook (nbformat 4); undefined if it is none. */
export function parseNotebook(text: string): Notebook | undefined {
  try {
    const { cells, metadata } = JSON.parse(text) as { cells?: unknown; metadata?: unknown }
    if (!Array.isArray(cells)) return undefined
    const language = asRecord(asRecord(metadata).language_info).name
    let rendered = 0
    const parsed = cells.slice(0, maxCells).map((cell) => {
      const each = parseCell(asRecord(cell))
      rendered += each.source.length
      return rendered > maxRendered ? { ...each, kind: "raw" as const } : each
    })
    return { language: typeof language === "string" ? language : "python", cells: parsed }
  } catch {
    return undefined
  }
}

function parseCell(cell: Record<string, unknown>): NotebookCell {
  const { cell_type: type, outputs } = cell
  return {
    kind: type === "markdown" || type === "code" ? type : "raw",
    source: joined(cell.source),
    outputs: Array.isArray(outputs) ? outputs.slice(0, maxOutputs).map((output) => parseOutput(asRecord(output))) : [],
  }
}

/** Text, or an image; markup is left out. */
function parseOutput(output: Record<string, unknown>): { text?: string; imageUrl?: string } {
  if (output.output_type === "error") return { text: `${joined(output.ename)}: ${joined(output.evalue)}` }
  if (output.text !== undefined) return { text: joined(output.text) }
  const data = asRecord(output.data)
  for (const type of ["image/png", "image/jpeg"]) {
    const bytes = joined(data[type]).replace(/\s/g, "")
    if (/^[A-Za-z0-9+/]+=*$/.test(bytes)) return { imageUrl: `data:${type};base64,${bytes}` }
  }
  return { text: joined(data["text/plain"]) }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {}
}

function joined(value: unknown): string {
  if (Array.isArray(value)) return value.filter((line) => typeof line === "string").join("")
  return typeof value === "string" ? value : ""
}

import { readFileSync } from "node:fs"

/** The interface document and what fills its gaps, in `docs/reference/interface/`. */
export const documents = ["http-api", "README", "beyond"] as const
export type Document = (typeof documents)[number]

/** One sentence of prose, or one row of a table. */
export interface Sentence {
  document: Document
  section: string
  text: string
  isRow: boolean
}

export function sentencesOf(document: Document): Sentence[] {
  const text = readFileSync(new URL(`../../docs/reference/interface/${document}.md`, import.meta.url), "utf8")
  const sentences: Sentence[] = []
  let section = ""
  let paragraph = ""
  const end = () => {
    for (const each of paragraph.split(/(?<=[.!?])\s+(?=[A-Z`{(*])/)) {
      if (each !== "") sentences.push({ document, section, text: each, isRow: false })
    }
    paragraph = ""
  }
  const lines = text.split("\n")
  for (const [i, line] of lines.entries()) {
    const item = /^(?:- |\d+\. )(.*)$/.exec(line)
    if (line.trim() === "" || line.startsWith("#") || line.startsWith("|") || item) end()
    if (line.startsWith("#")) section = line.replace(/^#+ /, "")
    else if (line.startsWith("|")) {
      const isHead = lines[i + 1]?.startsWith("|---") || line.startsWith("|---")
      if (!isHead) sentences.push({ document, section, text: line.replace(/^\| | \|$/g, ""), isRow: true })
    } else if (item) paragraph = item[1] ?? ""
    else if (line.trim() !== "") paragraph += `${paragraph === "" ? "" : " "}${line.trim()}`
  }
  end()
  return sentences
}

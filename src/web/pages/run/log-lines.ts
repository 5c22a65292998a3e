import type { LogLine } from "#contract"

/** A page keeps so many lines; older ones are in the download. */
export const maxLogLines = 5_000

/** All lines of a page together: some programs print lines of kilobytes. */
const maxCharacters = 2_000_000

/** Adds lines at the end and drops the oldest beyond the bounds. */
export function appendLines(
  lines: readonly LogLine[],
  more: readonly LogLine[],
  max = { lines: maxLogLines, characters: maxCharacters },
): readonly LogLine[] {
  if (more.length === 0) return lines
  const all = [...lines, ...more]
  let from = all.length
  for (let characters = 0; from > 0 && all.length - from < max.lines; from -= 1) {
    characters += all[from - 1]?.text.length ?? 0
    if (characters > max.characters) break
  }
  return from > 0 ? all.slice(from) : all
}

/** The lines that contain the search text, in any case. */
export function matchingLines(lines: readonly LogLine[], searchText: string): readonly LogLine[] {
  const wanted = searchText.trim().toLowerCase()
  return wanted === "" ? lines : lines.filter(({ text }) => text.toLowerCase().includes(wanted))
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are told colours by these
const escapes = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[\u0000-\u0008\u000b-\u001f\u007f]/g

/** A line without the control sequences that only a terminal understands. */
export function plainLine(text: string): string {
  return text.replace(escapes, "")
}

import type { LogLine } from "#contract"

/** A page keeps so many lines; older ones are in the download. */
export const maxLogLines = 5_000

/** Adds lines at the end and drops the oldest beyond the bound. */
export function appendLines(lines: readonly LogLine[], more: readonly LogLine[], max = maxLogLines): readonly LogLine[] {
  if (more.length === 0) return lines
  const all = [...lines, ...more]
  return all.length > max ? all.slice(all.length - max) : all
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

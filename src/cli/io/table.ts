/** A column of a table: its heading and each row's text. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string>>

/**
 * Rows as columns of text, without lines between them, so that `awk` and `cut` can read them. The
 * last column is not padded.
 */
export function formatTable<Row>(rows: readonly Row[], columns: Columns<Row>, heading: (text: string) => string = (text) => text): string {
  const names = Object.keys(columns)
  const headings = names.map((name) => name.toUpperCase())
  const cells = rows.map((row) => names.map((name) => sanitize(columns[name]?.(row) ?? "") || "-"))
  const widths = names.map((name, i) => Math.max(name.length, ...cells.map((line) => width(line[i] ?? ""))))
  const format = (line: readonly string[]) =>
    line.map((text, i) => (i === line.length - 1 ? text : text + " ".repeat(2 + (widths[i] ?? 0) - width(text)))).join("")
  return [heading(format(headings)), ...cells.map(format)].join("\n")
}

/** Names and values under each other. */
export function formatFields(fields: Readonly<Record<string, unknown>>): string {
  const shown = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== "")
  const longest = Math.max(0, ...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${name.padEnd(longest)}  ${sanitize(textOf(value))}`).join("\n")
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(", ")
  return typeof value === "object" ? JSON.stringify(value) : String(value)
}

/**
 * Text of other people without control characters: these could move the cursor, reverse the text or
 * change what the terminal shows.
 */
export function sanitize(text: string): string {
  return withoutControls(text).trim()
}

/** The same for a text of several lines. */
export function sanitizeLines(text: string): string {
  return text
    .split("\n")
    .map((line) => withoutControls(line).trimEnd())
    .join("\n")
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are commanded by these
const colour = /(\u001b\[[\d;:]*m)/
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const command = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|.)/g

/**
 * A line that a program printed, for a terminal: its colours stay. Other commands would move the
 * cursor, rename the window or fill the clipboard.
 */
export function sanitizeOutput(line: string): string {
  const parts = line.split(colour)
  const plain = parts.map((part, i) => (i % 2 === 1 ? part : part.replaceAll(command, "").replaceAll(/[^\P{Cc}\t\r]/gu, ""))).join("")
  return parts.length > 1 ? `${plain}\u001b[0m` : plain
}

/** JSON for any reader: what JSON leaves of control characters would command a terminal, too. */
export function toJson(value: unknown, indent?: number): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
  return JSON.stringify(value, null, indent).replaceAll(/[\u007f-\u009f\p{Bidi_Control}]/gu, escaped)
}

function withoutControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}]+/gu, " ")
}

/** Columns on a terminal: marks that combine take none, and wide characters two. */
function width(text: string): number {
  let columns = 0
  for (const char of text) {
    if (/\p{M}|\u200d/u.test(char)) continue
    columns += /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u.test(
      char,
    )
      ? 2
      : 1
  }
  return columns
}

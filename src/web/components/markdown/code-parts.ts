/** Rules of some languages take the square of a hostile text's length. */
const maxPartLength = 2_000

/**
 * Code in parts that are coloured one by one: at most so long, and divided at empty lines where
 * there are some, else at line ends. A line that is longer is a part of its own, `isLong`.
 */
export function codeParts(text: string): { text: string; isLong: boolean }[] {
  const parts: { text: string; isLong: boolean }[] = []
  for (let from = 0; from < text.length; ) {
    const end = endOfPart(text, from)
    parts.push({ text: text.slice(from, end), isLong: end - from > maxPartLength })
    from = end
  }
  return parts
}

function endOfPart(text: string, from: number): number {
  const limit = from + maxPartLength
  if (text.length <= limit) return text.length
  for (const end of ["\n\n", "\n"]) {
    const found = text.slice(from, limit).lastIndexOf(end)
    if (found >= 0) return from + found + end.length
  }
  const lineEnd = text.indexOf("\n", limit)
  return lineEnd < 0 ? text.length : lineEnd + 1
}

/** Browsers take the square of its length to lay out a text of hostile directions or accents. */
export const maxPieceLength = 4_000

/**
 * A text in pieces that are laid out one by one: at most so long, and divided at line ends where
 * there are some. All together are the text.
 */
export function textPieces(text: string): string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length; ) {
    const end = endOfPiece(text, from)
    pieces.push(text.slice(from, end))
    from = end
  }
  return pieces
}

function endOfPiece(text: string, from: number): number {
  const limit = from + maxPieceLength
  if (text.length <= limit) return text.length
  const found = text.lastIndexOf("\n", limit - 1)
  if (found >= from) return found + 1
  return isLowSurrogate(text.charCodeAt(limit)) ? limit - 1 : limit
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}

import { maxPieceLength, textPieces } from "./text-pieces.ts"

/**
 * A text of somebody's as it is, however long. A browser lays out only the pieces of a long one
 * that are seen.
 */
export function LongText({ text }: { text: string }) {
  if (text.length <= maxPieceLength) return text
  return textPieces(text).map((piece, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces never move
    <span key={i} className="text-piece">
      {piece}
    </span>
  ))
}

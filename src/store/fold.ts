import { bounds } from "#contract"

/** Removes differences of case and width. Databases fold differently, so this code does it. */
export function fold(text: string): string {
  // Lower case first: the capital ẞ has no other capital, so only its small letter becomes SS.
  return text.normalize("NFKC").toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ").normalize("NFKC")
}

/**
 * The maximum of UTF-16 units in a key: an index of PostgreSQL has at most 2,704 bytes per row.
 * Rows with equal keys are ordered by ID.
 */
export const keyLength = 300

/** The beginning of a text, for an index. It never ends within a pair of surrogates. */
export function indexKey(text: string): string {
  if (text.length <= keyLength) return text
  const last = text.charCodeAt(keyLength - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? keyLength - 1 : keyLength)
}

const searchedLength = bounds.texts.searchedCharacters.value

/**
 * The text that searches compare. It has a maximum: folding can expand a character to 18 others.
 */
export function searchText(name: string, comment: string): string {
  const folded = fold(`${name}\n${comment}`)
  return folded.length <= searchedLength ? folded : [...folded].slice(0, searchedLength).join("")
}

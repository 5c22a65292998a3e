import { bounds } from "#contract"

/**
 * Text as it is compared when case and width do not matter. Made here so that both databases agree,
 * whatever their own rules.
 */
export function fold(text: string): string {
  // Lower case first: the capital ẞ has no other capital, so only its small letter becomes SS.
  return text.normalize("NFKC").toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ").normalize("NFKC")
}

/**
 * Long texts would not fit an index of PostgreSQL (2,704 bytes): keys hold so many UTF-16 units,
 * and rows that agree so far are ordered by ID.
 */
const keyLength = 300

/** The beginning of a text, as it stands in an index. Never ends within a pair of surrogates. */
export function indexKey(text: string): string {
  if (text.length <= keyLength) return text
  const last = text.charCodeAt(keyLength - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? keyLength - 1 : keyLength)
}

const searchedLength = bounds.texts.searchedCharacters.value

/**
 * What searches look at: some characters become up to 18 others, and each search would go through
 * all of these.
 */
export function searchText(name: string, comment: string): string {
  const folded = fold(`${name}\n${comment}`)
  return folded.length <= searchedLength ? folded : [...folded].slice(0, searchedLength).join("")
}

import type { SortBy, Sorting } from "./entries.ts"

/** A folder as its address shows it. */
export interface FilesSearch {
  path?: string
  /** The name of the file whose preview is open. */
  file?: string
  q?: string
  sort?: SortWord
  page?: number
}

const sortWords = ["-name", "size", "-size", "time", "-time"] as const
type SortWord = (typeof sortWords)[number]
const maxCharacters = 200

/** Without a path, the rest of the address names nothing. */
export function parseFilesSearch({ path, file, q, sort, page }: Record<string, unknown>): FilesSearch {
  if (typeof path !== "string" || !path.startsWith("/")) return {}
  // A router reads words like 42 or true as values.
  const searchText = q === undefined || typeof q === "object" ? "" : String(q).slice(0, maxCharacters)
  return {
    path,
    ...(typeof file === "string" ? { file } : {}),
    ...(searchText === "" ? {} : { q: searchText }),
    ...(isSortWord(sort) ? { sort } : {}),
    ...(Number.isSafeInteger(page) && Number(page) > 1 && Number(page) < 2 ** 31 ? { page: Number(page) } : {}),
  }
}

function isSortWord(word: unknown): word is SortWord {
  return (sortWords as readonly unknown[]).includes(word)
}

export function parseSorting({ sort }: FilesSearch): Sorting {
  return sort ? { by: sort.replace("-", "") as SortBy, isDescending: sort.startsWith("-") } : { by: "name", isDescending: false }
}

/** The order as the address holds it; nothing for the usual one. */
export function toSortParam({ by, isDescending }: Sorting): Pick<FilesSearch, "sort"> {
  const word = `${isDescending ? "-" : ""}${by}`
  return isSortWord(word) ? { sort: word } : {}
}

import { type ListSearch, parseListSearch } from "../listing/list-search.ts"

/** The choice of projects that home lists to start. */
export type HomeSearch = Omit<ListSearch, "sort">

export function parseHomeSearch(search: Record<string, unknown>): HomeSearch {
  const { sort: _sort, show, ...rest } = parseListSearch(search)
  // Nothing in the bin can start.
  return { ...rest, ...(show === undefined || show === "bin" ? {} : { show }) }
}

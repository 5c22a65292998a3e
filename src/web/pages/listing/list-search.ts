/** The filters, order and page of a list, as its address holds them. */
export interface ListSearch {
  q?: string
  show?: ListScope
  group?: string
  sort?: ListSort
  page?: number
}

export const listScopes = ["mine", "published", "bin"] as const
export type ListScope = (typeof listScopes)[number]
const listSorts = ["name", "changed"] as const
export type ListSort = (typeof listSorts)[number]

const maxCharacters = 200

/** Takes from an address only values that the list knows. */
export function parseListSearch({ q, show, group, sort, page }: Record<string, unknown>): ListSearch {
  // A router reads words like 42 or true as values.
  const searchText = q === undefined || typeof q === "object" ? "" : String(q).slice(0, maxCharacters)
  return {
    ...(searchText === "" ? {} : { q: searchText }),
    ...(isOneOf(listScopes, show) ? { show } : {}),
    ...(typeof group === "string" && group !== "" ? { group: group.slice(0, maxCharacters) } : {}),
    ...(isOneOf(listSorts, sort) ? { sort } : {}),
    ...(Number.isSafeInteger(page) && Number(page) > 1 && Number(page) < 2 ** 31 ? { page: Number(page) } : {}),
  }
}

function isOneOf<T extends string>(values: readonly T[], value: unknown): value is T {
  return (values as readonly unknown[]).includes(value)
}

export const listPageSize = 25

/** The API's query for a list. `name` is the field by which it sorts names. */
export function listQuery(search: ListSearch, userName: string, name: "Name" | "ProjectName") {
  const searchText = search.q?.trim() ?? ""
  return {
    page: search.page ?? 1,
    pageSize: listPageSize,
    ...(searchText === "" ? {} : { q: searchText }),
    ...(search.show === "mine" ? { UserName: userName } : {}),
    ...(search.show === "published" ? { IsPublish: 1 } : {}),
    ...(search.show === "bin" ? { Deleted: 1 } : {}),
    ...(search.group === undefined ? {} : { GroupName: search.group }),
    ...(search.sort === undefined ? {} : { sort: search.sort === "name" ? name : "-UpdatedAt" }),
  }
}

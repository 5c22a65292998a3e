import { Select, type SelectOption } from "../../components/fields.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { DebouncedSearchField } from "./debounced-search-field.tsx"
import { type ListScope, type ListSearch, type ListSort, listScopes } from "./list-search.ts"
import "./listing.css"

interface FiltersProps {
  label: string
  search: ListSearch
  onSearch: (search: ListSearch) => void
  /** The groups to filter by; undefined for lists without groups. */
  groups?: readonly string[]
}

/** Search, scope and order of a list. Each change goes to the first page. */
export function ListFilters({ label, search, onSearch, groups = [] }: FiltersProps) {
  const { listing } = resourceTexts
  const { page: _page, ...kept } = search
  const shown = search.group === undefined ? (search.show ?? "all") : `group:${search.group}`
  const scopes: SelectOption<string>[] = [
    { value: "all", label: listing.all },
    ...listScopes.map((value) => ({ value, label: listing[value] })),
    ...groups.map((group) => ({ value: `group:${group}`, label: listing.group(group) })),
  ]
  const choose = (value: string) => {
    const { show: _show, group: _group, ...rest } = kept
    if (value === "all") onSearch(rest)
    else if (value.startsWith("group:")) onSearch({ ...rest, group: value.slice("group:".length) })
    else onSearch({ ...rest, show: value as ListScope })
  }
  const order = (value: string) => {
    const { sort: _sort, ...rest } = kept
    onSearch(value === "newest" ? rest : { ...rest, sort: value as ListSort })
  }
  const find = (searchText: string) => {
    const { q: _q, ...rest } = kept
    onSearch(searchText === "" ? rest : { ...rest, q: searchText })
  }
  return (
    <div className="filters">
      <DebouncedSearchField label={label} value={search.q ?? ""} onValue={find} />
      <Select label={listing.show} value={shown} onValue={choose} options={scopes} />
      <Select
        label={listing.sort}
        value={search.sort ?? "newest"}
        onValue={order}
        options={[
          { value: "newest", label: listing.newest },
          { value: "name", label: listing.name },
          { value: "changed", label: listing.changed },
        ]}
      />
    </div>
  )
}

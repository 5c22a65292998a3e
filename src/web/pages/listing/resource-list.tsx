import { useMutation } from "@tanstack/react-query"
import type { ReactNode } from "react"
import type { List } from "#contract"
import { Button } from "../../components/button.tsx"
import { EmptyState, Loaded } from "../../components/feedback.tsx"
import { type Column, Table } from "../../components/table.tsx"
import { showError, showToast } from "../../components/toast.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { resourceTexts } from "../../text/resources.ts"
import type { ListSearch } from "./list-search.ts"

interface Row {
  ID: number
  UserName: string
  UpdatedAt: string
  DeletedAt: string | null
}

interface ListProps<T extends Row> {
  label: string
  query: { data: List<T> | undefined; error: Error | null; isPending: boolean; refetch: () => unknown }
  search: ListSearch
  onSearch: (search: ListSearch) => void
  columns: readonly Column<T>[]
  /** The state without any object: the first step. */
  empty: ReactNode
  nameOf: (row: T) => string
  restore: (id: number) => Promise<unknown>
}

/** One page of a list of images, datasets or projects, or of those in the bin. */
export function ResourceList<T extends Row>({ label, query, search, onSearch, columns, empty, nameOf, restore }: ListProps<T>) {
  const isBin = search.show === "bin"
  const hasFilters = search.q !== undefined || search.show !== undefined || search.group !== undefined
  const { listing } = resourceTexts
  const all: readonly Column<T>[] = [
    ...columns,
    { title: listing.owner, cell: (row) => row.UserName },
    isBin
      ? { title: listing.deleted, cell: (row) => <RelativeTime value={row.DeletedAt} /> }
      : { title: listing.updated, cell: (row) => <RelativeTime value={row.UpdatedAt} /> },
    ...(isBin
      ? [{ title: listing.restore, isActions: true, cell: (row: T) => <Restore name={nameOf(row)} onRestore={() => restore(row.ID)} /> }]
      : []),
  ]
  return (
    <Loaded query={query} height={16}>
      {({ data, pageCount }) => {
        if (data.length === 0 && !hasFilters) return empty
        if (data.length === 0)
          return (
            <EmptyState title={isBin && search.q === undefined ? listing.emptyBin : listing.noMatch}>
              <Button onClick={() => onSearch({})}>{listing.clear}</Button>
            </EmptyState>
          )
        const paging = { page: search.page ?? 1, pageCount, onPage: (page: number) => onSearch({ ...search, page }) }
        return <Table label={label} rows={data} columns={all} keyOf={(row) => row.ID} paging={paging} />
      }}
    </Loaded>
  )
}

function Restore({ name, onRestore }: { name: string; onRestore: () => Promise<unknown> }) {
  const restore = useMutation({
    mutationFn: onRestore,
    onSuccess: () => showToast(resourceTexts.listing.restoredToast(name)),
    onError: showError,
  })
  return (
    <Button size="small" isBusy={restore.isPending} onClick={() => restore.mutate()}>
      {resourceTexts.listing.restore}
    </Button>
  )
}

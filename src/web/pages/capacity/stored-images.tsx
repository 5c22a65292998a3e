import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import type { Answer } from "#contract"
import { formatBytes } from "../../api/formats.ts"
import { apiQuery } from "../../api/queries.ts"
import { EmptyState, Loaded } from "../../components/feedback.tsx"
import { type Column, Table } from "../../components/table.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { adminTexts } from "../../text/administration.ts"

const { images: text, tabs } = adminTexts.capacity
type StoredImage = Answer<"listStoredImages">["data"][number]

const columns: readonly Column<StoredImage>[] = [
  { title: text.names, cell: ({ Images, Digest }) => <code className="wrap-anywhere">{Images.join(", ") || Digest}</code> },
  { title: text.size, cell: ({ Size }) => formatBytes(Size) },
  { title: text.used, cell: ({ UsedAt }) => UsedAt && <RelativeTime value={UsedAt} /> },
  { title: text.why, cell: ({ WouldPrune, Why }) => (WouldPrune ? text.goes(Why) : Why) },
]

/** All images on the engine's disk, the largest first. */
export function StoredImages() {
  const { page = 1 } = useSearch({ from: "/shell/admin/capacity" })
  const navigate = useNavigate({ from: "/capacity" })
  // Other programs fetch and remove images without events, so each visit reads them.
  const found = useQuery({
    ...apiQuery("listStoredImages", { query: { page, pageSize: 25 } }),
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
  const onPage = (next: number) => void navigate({ search: (before) => ({ ...before, page: next }) })
  return (
    <div className="stack">
      <p className="quiet">{text.text}</p>
      <Loaded query={found} height={10}>
        {({ data, pageCount }) =>
          data.length === 0 ? (
            <EmptyState title={text.empty} />
          ) : (
            <Table label={tabs.images} rows={data} columns={columns} keyOf={({ Digest }) => Digest} paging={{ page, pageCount, onPage }} />
          )
        }
      </Loaded>
    </div>
  )
}

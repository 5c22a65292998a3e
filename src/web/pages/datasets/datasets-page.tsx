import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import type { Data } from "#contract"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Badge, EmptyState } from "../../components/feedback.tsx"
import { PageHeader } from "../../components/page.tsx"
import type { Column } from "../../components/table.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { ListFilters } from "../listing/list-filters.tsx"
import { type ListSearch, listQuery } from "../listing/list-search.ts"
import { ResourceList } from "../listing/resource-list.tsx"
import { datasetsQuery } from "./queries.ts"

const columns: readonly Column<Data>[] = [
  {
    title: resourceTexts.datasets.name,
    cell: (dataset) => (
      <>
        {dataset.DeletedAt === null ? (
          <Link to="/datasets/$id" params={{ id: dataset.ID }} className="card-title">
            {dataset.Name}
          </Link>
        ) : (
          <span className="card-title">{dataset.Name}</span>
        )}
        {dataset.Comment && <p className="quiet small line-clamp">{dataset.Comment}</p>}
      </>
    ),
  },
  { title: resourceTexts.datasets.place, cell: (dataset) => <code>{dataset.AccessInfo}</code> },
  {
    title: resourceTexts.listing.visibleTo,
    cell: (dataset) =>
      dataset.IsPublished ? (
        <Badge tone="good">{resourceTexts.listing.everybody}</Badge>
      ) : (
        <span className="quiet">{resourceTexts.listing.onlyShared}</span>
      ),
  },
]

export function DatasetsPage() {
  const search = useSearch({ from: "/shell/datasets" })
  const navigate = useNavigate({ from: "/datasets" })
  const { data: person } = useQuery(apiQuery("whoami"))
  const { group: _group, ...own } = search
  const query = listQuery(own, person?.UserName ?? "", "Name")
  const datasets = useQuery({ ...datasetsQuery(query), enabled: person !== undefined, placeholderData: keepPreviousData })
  const onSearch = (next: ListSearch) => void navigate({ search: next, replace: true })
  return (
    <>
      <PageHeader title={resourceTexts.datasets.title}>
        <NewDataset />
      </PageHeader>
      <ListFilters label={resourceTexts.datasets.search} search={own} onSearch={onSearch} />
      <ResourceList
        label={resourceTexts.datasets.title}
        query={datasets}
        search={own}
        onSearch={onSearch}
        columns={columns}
        empty={
          <EmptyState title={resourceTexts.datasets.none}>
            <p>{resourceTexts.datasets.noneHint}</p>
            <NewDataset />
          </EmptyState>
        }
        nameOf={(dataset) => dataset.Name}
        restore={(ID) => client.restoreData({ query: { ID } })}
      />
    </>
  )
}

function NewDataset() {
  return (
    <ButtonLink to="/datasets/new" kind="primary" icon="plus">
      {resourceTexts.datasets.new}
    </ButtonLink>
  )
}

import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import type { Image } from "#contract"
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

const columns: readonly Column<Image>[] = [
  {
    title: resourceTexts.images.name,
    cell: (image) => (
      <>
        {image.DeletedAt === null ? (
          <Link to="/images/$id" params={{ id: image.ID }} className="card-title">
            {image.Name}
          </Link>
        ) : (
          <span className="card-title">{image.Name}</span>
        )}
        {image.Comment && <p className="quiet small line-clamp">{image.Comment}</p>}
      </>
    ),
  },
  { title: resourceTexts.images.reference, cell: (image) => <code>{image.Image}</code> },
  {
    title: resourceTexts.listing.visibleTo,
    cell: (image) =>
      image.IsPublished ? (
        <Badge tone="good">{resourceTexts.listing.everybody}</Badge>
      ) : (
        <span className="quiet">{resourceTexts.listing.onlyShared}</span>
      ),
  },
]

export function ImagesPage() {
  const search = useSearch({ from: "/shell/images" })
  const navigate = useNavigate({ from: "/images" })
  const { data: person } = useQuery(apiQuery("whoami"))
  const { group: _group, ...own } = search
  const query = listQuery(own, person?.UserName ?? "", "Name")
  const images = useQuery({ ...apiQuery("listImages", { query }), enabled: person !== undefined, placeholderData: keepPreviousData })
  const onSearch = (next: ListSearch) => void navigate({ search: next, replace: true })
  return (
    <>
      <PageHeader title={resourceTexts.images.title}>
        <NewImage />
      </PageHeader>
      <ListFilters label={resourceTexts.images.search} search={own} onSearch={onSearch} />
      <ResourceList
        label={resourceTexts.images.title}
        query={images}
        search={own}
        onSearch={onSearch}
        columns={columns}
        empty={
          <EmptyState title={resourceTexts.images.none}>
            <p>{resourceTexts.images.noneHint}</p>
            <NewImage />
          </EmptyState>
        }
        nameOf={(image) => image.Name}
        restore={(ID) => client.restoreImage({ query: { ID } })}
      />
    </>
  )
}

function NewImage() {
  return (
    <ButtonLink to="/images/new" kind="primary" icon="plus">
      {resourceTexts.images.new}
    </ButtonLink>
  )
}

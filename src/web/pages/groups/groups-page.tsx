import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import type { Group } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { EmptyState, Loaded } from "../../components/feedback.tsx"
import { PageHeader } from "../../components/page.tsx"
import { type Column, Table } from "../../components/table.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { DebouncedSearchField } from "../listing/debounced-search-field.tsx"
import { listPageSize } from "../listing/list-search.ts"
import "../listing/listing.css"

const { groups } = resourceTexts

const columns: readonly Column<Group>[] = [
  {
    title: groups.name,
    cell: (group) => (
      <Link to="/groups/$id" params={{ id: group.ID }} className="card-title">
        {group.GroupName}
      </Link>
    ),
  },
  { title: groups.comment, cell: (group) => <span className="line-clamp">{group.Comment}</span> },
  { title: groups.members, cell: (group) => group.Members.length, isNumber: true },
]

export function GroupsPage() {
  const { q, page = 1 } = useSearch({ from: "/shell/groups" })
  const navigate = useNavigate({ from: "/groups" })
  const { data: person } = useQuery(apiQuery("whoami"))
  const isAdmin = person?.IsAdmin ?? false
  const query = { page, pageSize: listPageSize, ...(q === undefined ? {} : { q }) }
  const list = useQuery({ ...apiQuery("listGroups", { query }), placeholderData: keepPreviousData })
  const onPage = (next: number) => void navigate({ search: { ...(q === undefined ? {} : { q }), page: next } })
  return (
    <>
      <PageHeader title={groups.title}>{isAdmin && <NewGroup />}</PageHeader>
      <div className="filters">
        <DebouncedSearchField
          label={groups.search}
          value={q ?? ""}
          onValue={(searchText) => void navigate({ search: searchText === "" ? {} : { q: searchText }, replace: true })}
        />
      </div>
      <Loaded query={list} height={16}>
        {({ data, pageCount }) =>
          data.length > 0 ? (
            <Table label={groups.title} rows={data} columns={columns} keyOf={(group) => group.ID} paging={{ page, pageCount, onPage }} />
          ) : (
            <NoGroups searchText={q ?? ""} isAdmin={isAdmin} />
          )
        }
      </Loaded>
    </>
  )
}

function NoGroups({ searchText, isAdmin }: { searchText: string; isAdmin: boolean }) {
  if (searchText !== "") return <p className="quiet wrap-anywhere">{groups.noMatch(searchText)}</p>
  return (
    <EmptyState title={isAdmin ? groups.noneAdmin : groups.none}>
      <p>{isAdmin ? groups.noneAdminHint : groups.noneHint}</p>
      {isAdmin && <NewGroup />}
    </EmptyState>
  )
}

function NewGroup() {
  return (
    <ButtonLink to="/groups/new" kind="primary" icon="plus">
      {groups.new}
    </ButtonLink>
  )
}

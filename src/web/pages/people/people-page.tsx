import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import type { User } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Badge, EmptyState, Loaded } from "../../components/feedback.tsx"
import { SearchField } from "../../components/fields.tsx"
import { PageHeader, Tabs } from "../../components/page.tsx"
import { type Column, Table } from "../../components/table.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { adminTexts } from "../../text/administration.ts"
import { SessionList } from "../sessions/session-list.tsx"
import { GroupLimits } from "./group-limits.tsx"
import { liveRunsQuery, summarizeUsage, usageOf } from "./limits.ts"
import { PersonBadges } from "./person-badges.tsx"

const { people } = adminTexts

export function PeoplePage() {
  const { tab } = useSearch({ from: "/shell/admin/people" })
  const navigate = useNavigate({ from: "/people" })
  return (
    <>
      <PageHeader title={people.title}>
        <ButtonLink to="/people/new" kind="primary" icon="plus">
          {people.add}
        </ButtonLink>
      </PageHeader>
      <Tabs
        value={tab ?? "people"}
        onValue={(next) => void navigate({ search: next === "people" ? {} : { tab: next } })}
        tabs={[
          { value: "people", label: people.tabs.people, content: () => <PeopleList /> },
          { value: "groups", label: people.tabs.groups, content: () => <GroupLimits /> },
          { value: "sessions", label: people.tabs.sessions, content: () => <SessionList /> },
        ]}
      />
    </>
  )
}

const identity: readonly Column<User>[] = [
  {
    title: people.userName,
    cell: ({ ID, UserName }) => (
      <Link to="/people/$id" params={{ id: ID }}>
        {UserName}
      </Link>
    ),
  },
  { title: people.state, cell: (user) => <PersonState user={user} /> },
]

const further: readonly Column<User>[] = [
  { title: people.email, cell: ({ Email }) => Email },
  { title: people.comment, cell: ({ Comment }) => Comment },
  { title: people.since, cell: ({ CreatedAt }) => <RelativeTime value={CreatedAt} /> },
]

function PersonState({ user }: { user: User }) {
  return user.IsAdmin || user.IsDisabled ? <PersonBadges user={user} /> : <Badge>{people.active}</Badge>
}

/** The columns with the runs of each person, if one page of runs has them all. */
function useColumns(): readonly Column<User>[] {
  const { data: runs } = useQuery(liveRunsQuery)
  if (!runs || runs.pageCount > 1) return [...identity, ...further]
  const uses = Map.groupBy(runs.data, ({ UserName }) => UserName)
  const use = { title: people.usesNow, cell: ({ UserName }: User) => summarizeUsage(usageOf(uses.get(UserName) ?? [])) }
  return [...identity, use, ...further]
}

function PeopleList() {
  const columns = useColumns()
  const { q = "", page = 1 } = useSearch({ from: "/shell/admin/people" })
  const navigate = useNavigate({ from: "/people" })
  const query = { page, pageSize: 25, ...(q.trim() === "" ? {} : { q: q.trim() }) }
  const users = useQuery({ ...apiQuery("listUsers", { query }), placeholderData: keepPreviousData })
  const onPage = (next: number) => void navigate({ search: (before) => ({ ...before, page: next }) })
  return (
    <div className="stack">
      <div className="row">
        <SearchField
          label={people.search}
          value={q}
          onValue={(next) => void navigate({ search: next === "" ? {} : { q: next }, replace: true })}
        />
      </div>
      <Loaded query={users} height={16}>
        {({ data, pageCount }) =>
          data.length === 0 ? (
            <EmptyState title={people.noMatch} />
          ) : (
            <Table label={people.title} rows={data} columns={columns} keyOf={({ ID }) => ID} paging={{ page, pageCount, onPage }} />
          )
        }
      </Loaded>
    </div>
  )
}

import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { type FormEvent, useState } from "react"
import type { AuditEntry } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Button } from "../../components/button.tsx"
import { Badge, EmptyState, Loaded } from "../../components/feedback.tsx"
import { TextField } from "../../components/fields.tsx"
import { PageHeader } from "../../components/page.tsx"
import { type Column, Table } from "../../components/table.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { adminTexts } from "../../text/administration.ts"
import { auditQuery } from "./audit-query.ts"
import type { AuditSearch } from "./audit-search.ts"
import "./audit.css"

const { audit } = adminTexts

export function AuditPage() {
  const search = useSearch({ from: "/shell/admin/audit" })
  const navigate = useNavigate({ from: "/audit" })
  // No event says that the audit grew, so each visit reads it.
  const entries = useQuery({ ...apiQuery("listAudit", { query: auditQuery(search) }), placeholderData: keepPreviousData, staleTime: 0 })
  const onPage = (page: number) => void navigate({ search: (before) => ({ ...before, page }) })
  return (
    <>
      <PageHeader title={audit.title} subtitle={audit.text}>
        <Button icon="repeat" isBusy={entries.isFetching} onClick={() => void entries.refetch()}>
          {audit.reload}
        </Button>
      </PageHeader>
      <div className="stack">
        <Filters key={JSON.stringify(search)} search={search} />
        <Loaded query={entries} height={20}>
          {({ data, pageCount }) =>
            data.length === 0 ? (
              <EmptyState title={audit.empty} />
            ) : (
              <Table
                label={audit.title}
                rows={data}
                columns={columns}
                keyOf={({ ID }) => ID}
                paging={{ page: search.page ?? 1, pageCount, onPage }}
              />
            )
          }
        </Loaded>
      </div>
    </>
  )
}

const columns: readonly Column<AuditEntry>[] = [
  { title: audit.time, cell: ({ Time: time }) => <RelativeTime value={time} /> },
  { title: audit.person, cell: (entry) => <Actor entry={entry} /> },
  { title: audit.action, cell: ({ Action }) => <code className="audit-action">{Action}</code> },
  { title: audit.object, cell: (entry) => <ResourceLink entry={entry} /> },
  {
    title: audit.outcome,
    cell: ({ Outcome, Count }) =>
      Outcome === "done" ? <Badge tone="good">{audit.done}</Badge> : <Badge tone="warn">{audit.refused(Count)}</Badge>,
  },
  { title: audit.address, cell: ({ Address }) => Address },
  { title: audit.request, cell: ({ RequestID }) => <code className="quiet small">{RequestID}</code> },
]

function Actor({ entry: { Actor: actor } }: { entry: AuditEntry }) {
  if (actor === "") return <span className="quiet">{audit.service}</span>
  if (actor === "-") return <span className="quiet">{audit.nobody}</span>
  return (
    <Link to="/audit" search={{ person: actor }}>
      {actor}
    </Link>
  )
}

const resourcePages = {
  run: "/runs/$id",
  user: "/people/$id",
  image: "/images/$id",
  data: "/datasets/$id",
  project: "/projects/$id",
  group: "/groups/$id",
} as const

/** The resource of an action, with a link to its page if it has one. */
function ResourceLink({ entry: { Thing: resource } }: { entry: AuditEntry }) {
  if (!resource) return null
  const label = `${audit.resourceTypes[resource.Type] ?? resource.Type} ${resource.ID}`
  if (!Object.hasOwn(resourcePages, resource.Type)) return label
  return (
    <Link to={resourcePages[resource.Type as keyof typeof resourcePages]} params={{ id: resource.ID }}>
      {label}
    </Link>
  )
}

const presets: readonly (readonly [label: string, search: AuditSearch])[] = [
  [audit.presets.signIns, { action: "session.created" }],
  [audit.presets.refusedSignIns, { action: "createSession" }],
  [audit.presets.people, { action: "user.updated" }],
  [audit.presets.starts, { action: "run.start" }],
]

function Filters({ search }: { search: AuditSearch }) {
  const [filters, setFilters] = useState(search)
  const navigate = useNavigate({ from: "/audit" })
  const field = (name: "person" | "action" | "from" | "to") => ({
    label: audit[name],
    value: filters[name] ?? "",
    onValue: (value: string) => setFilters({ ...filters, [name]: value }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const { page: _page, ...wanted } = filters
    void navigate({ search: wanted })
  }
  return (
    <form onSubmit={submit} className="stack" aria-label={audit.title}>
      <div className="audit-filters">
        <TextField {...field("person")} hint={audit.personHint} maxLength={64} autoComplete="off" />
        <TextField {...field("action")} hint={audit.actionHint} maxLength={100} autoComplete="off" />
        <TextField {...field("from")} type="datetime-local" />
        <TextField {...field("to")} type="datetime-local" />
      </div>
      <div className="row">
        <Button type="submit" kind="primary" size="small">
          {audit.apply}
        </Button>
        <ButtonLink to="/audit" search={{}} size="small">
          {audit.clear}
        </ButtonLink>
        <span className="quiet small">{audit.common}</span>
        {presets.map(([label, preset]) => (
          <ButtonLink key={label} to="/audit" search={preset} size="small" kind="plain">
            {label}
          </ButtonLink>
        ))}
      </div>
    </form>
  )
}

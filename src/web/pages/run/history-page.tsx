import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import type { RunningProject } from "#contract"
import { toSentence } from "../../api/error-text.ts"
import { formatDuration } from "../../api/formats.ts"
import { apiQuery } from "../../api/queries.ts"
import { projectName } from "../../api/run-names.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Button } from "../../components/button.tsx"
import { EmptyState, Loaded } from "../../components/feedback.tsx"
import { Select } from "../../components/fields.tsx"
import { PageHeader } from "../../components/page.tsx"
import { Picker } from "../../components/picker.tsx"
import { type Column, Table } from "../../components/table.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { texts } from "../../text/index.ts"
import { resourceTexts } from "../../text/resources.ts"
import { DebouncedSearchField } from "../listing/debounced-search-field.tsx"
import type { HistorySearch } from "./history-search.ts"
import { RunActions } from "./run-actions.tsx"
import { StateBadge } from "./state-badge.tsx"

const { history } = texts.run

const columns: readonly Column<RunningProject>[] = [
  {
    title: history.project,
    cell: (run) => (
      <Link to="/runs/$id" params={{ id: run.ID }}>
        {projectName(run)}
      </Link>
    ),
  },
  { title: history.state, cell: (run) => <StateBadge state={run.State} /> },
  { title: history.person, cell: (run) => run.UserName },
  { title: history.when, cell: (run) => <RelativeTime value={run.EndTime} /> },
  { title: history.duration, cell: durationOf, isNumber: true },
  { title: history.why, cell: (run) => run.Reason && toSentence(run.Reason.msg) },
  { title: texts.common.more, isActions: true, cell: (run) => <RunActions run={run} size="small" /> },
]

export function HistoryPage() {
  const { page = 1, project, person, state } = useSearch({ from: "/shell/history" })
  const navigate = useNavigate({ from: "/history" })
  const query = {
    State: state ?? ("ended" as const),
    page,
    pageSize: 25,
    ...(project === undefined ? {} : { ProjectID: project }),
    ...(person === undefined ? {} : { UserName: person }),
  }
  const runs = useQuery({ ...apiQuery("listRuns", { query }), placeholderData: keepPreviousData })
  const onPage = (next: number) => void navigate({ search: (before) => ({ ...before, page: next }) })
  return (
    <>
      <PageHeader title={history.title} />
      <HistoryFilters />
      <Loaded query={runs} height={16}>
        {({ data, pageCount }) =>
          data.length === 0 ? (
            <NoRuns isFiltered={project !== undefined || person !== undefined || state !== undefined} />
          ) : (
            <Table label={history.title} rows={data} columns={columns} keyOf={(run) => run.ID} paging={{ page, pageCount, onPage }} />
          )
        }
      </Loaded>
    </>
  )
}

function NoRuns({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <EmptyState title={history.empty}>
        <ButtonLink to="/history">{resourceTexts.listing.clear}</ButtonLink>
      </EmptyState>
    )
  return (
    <EmptyState title={history.none}>
      <p>{history.noneHint}</p>
      <ButtonLink to="/">{texts.common.nav.home}</ButtonLink>
    </EmptyState>
  )
}

/** The address holds the filters: a link shows the same list. A change goes to the first page. */
function HistoryFilters() {
  const { page: _page, ...search } = useSearch({ from: "/shell/history" })
  const navigate = useNavigate({ from: "/history" })
  const { state: _state, ...withoutState } = search
  const { person = "", ...withoutPerson } = search
  const { project, ...withoutProject } = search
  const show = (next: HistorySearch) => void navigate({ search: next, replace: true })
  return (
    <div className="filters">
      <DebouncedSearchField
        label={history.personFilter}
        value={person}
        onValue={(next) => show(next.trim() === "" ? withoutPerson : { ...search, person: next.trim() })}
      />
      <Select
        label={history.state}
        value={search.state ?? "over"}
        onValue={(next) => show(next === "failed" ? { ...search, state: next } : withoutState)}
        options={[
          { value: "over", label: history.anyState },
          { value: "failed", label: texts.run.states.failed },
        ]}
      />
      {project === undefined ? (
        <ProjectFilter onProject={(next) => show({ ...search, project: next })} />
      ) : (
        <Button icon="close" onClick={() => show(withoutProject)}>
          {history.ofProject(project)}
        </Button>
      )}
    </div>
  )
}

/** Chooses a project by a part of its name. */
function ProjectFilter({ onProject }: { onProject: (id: number) => void }) {
  const [searchText, setSearchText] = useState("")
  const query = { pageSize: 10, ...(searchText.trim() === "" ? {} : { q: searchText.trim() }) }
  const { data: projects } = useQuery({ ...apiQuery("listProjects", { query }), placeholderData: keepPreviousData })
  return (
    <Picker
      label={history.project}
      placeholder={history.anyProject}
      value={null}
      onValue={(choice) => choice && onProject(choice.ID)}
      choices={(projects?.data ?? []).map(({ ID, ProjectName }) => ({ ID, Name: ProjectName }))}
      onSearchText={setSearchText}
    />
  )
}

function durationOf({ StartTime, EndTime }: RunningProject): string {
  return StartTime === null || EndTime === null ? "" : formatDuration(Date.parse(EndTime) - Date.parse(StartTime))
}

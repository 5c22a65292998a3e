import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import type { RunningProject } from "#contract"
import { sentence } from "../../api/error-text.ts"
import { formatDuration } from "../../api/formats.ts"
import { apiQuery } from "../../api/queries.ts"
import { projectName } from "../../api/run-names.ts"
import { EmptyState, Loaded } from "../../components/feedback.tsx"
import { PageHeader } from "../../components/page.tsx"
import { type Column, Table } from "../../components/table.tsx"
import { Time } from "../../components/values.tsx"
import { texts } from "../../text/index.ts"
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
  { title: history.when, cell: (run) => <Time value={run.EndTime} /> },
  { title: history.duration, cell: durationOf, isNumber: true },
  { title: history.why, cell: (run) => run.Reason && sentence(run.Reason.msg) },
  { title: texts.common.more, cell: (run) => <RunActions run={run} size="small" /> },
]

export function HistoryPage() {
  const { page = 1, project } = useSearch({ from: "/shell/history" })
  const navigate = useNavigate({ from: "/history" })
  const query = { State: "ended" as const, page, pageSize: 25, ...(project === undefined ? {} : { ProjectID: project }) }
  const runs = useQuery({ ...apiQuery("listRuns", { query }), placeholderData: keepPreviousData })
  const onPage = (next: number) => void navigate({ search: (before) => ({ ...before, page: next }) })
  return (
    <>
      <PageHeader title={history.title} />
      <Loaded query={runs} height={16}>
        {({ data, pageCount }) =>
          data.length === 0 ? (
            <EmptyState title={history.empty} />
          ) : (
            <Table label={history.title} rows={data} columns={columns} keyOf={(run) => run.ID} paging={{ page, pageCount, onPage }} />
          )
        }
      </Loaded>
    </>
  )
}

function durationOf({ StartTime, EndTime }: RunningProject): string {
  return StartTime === null || EndTime === null ? "" : formatDuration(Date.parse(EndTime) - Date.parse(StartTime))
}

import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { useDeferredValue } from "react"
import { type RunningProject, type RunState, runStateNames } from "#contract"
import { formatCpus, formatMemory } from "../../api/formats.ts"
import { apiQuery } from "../../api/queries.ts"
import { projectName } from "../../api/run-names.ts"
import { EmptyState, Loaded } from "../../components/feedback.tsx"
import { Select, TextField } from "../../components/fields.tsx"
import { type Column, Table } from "../../components/table.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import { RunActions } from "../run/run-actions.tsx"
import { StateBadge } from "../run/state-badge.tsx"

const { runs: text } = adminTexts.capacity

const columns: readonly Column<RunningProject>[] = [
  { title: texts.run.project, cell: (run) => <RunName run={run} /> },
  { title: text.person, cell: (run) => run.UserName },
  { title: text.state, cell: (run) => <StateBadge state={run.State} /> },
  { title: text.resources, cell: (run) => <Resources run={run} /> },
  { title: adminTexts.capacity.since, cell: (run) => <RelativeTime value={run.StartTime} /> },
  { title: texts.run.lastActivity, cell: (run) => <RelativeTime value={run.LastActivity} /> },
  { title: texts.common.more, isActions: true, cell: (run) => <RunActions run={run} size="small" /> },
]

function RunName({ run }: { run: RunningProject }) {
  return (
    <Link to="/runs/$id" params={{ id: run.ID }}>
      {projectName(run)}
    </Link>
  )
}

function Resources({ run: { Cpus, Memory, Gpus, NodeNames } }: { run: RunningProject }) {
  return (
    <>
      <span className="nowrap">{text.amounts(formatCpus(Cpus), formatMemory(Memory), Gpus)}</span>
      <p className="quiet small">{NodeNames.join(", ")}</p>
    </>
  )
}

type StateChoice = RunState | "all"
const states: readonly { value: StateChoice; label: string }[] = [
  { value: "all", label: text.all },
  ...runStateNames.map((value) => ({ value, label: texts.run.states[value] })),
]

/** Every run of everybody, by state and person. */
export function AllRuns() {
  const { state = "all" as StateChoice, person = "", page = 1 } = useSearch({ from: "/shell/admin/capacity" })
  const navigate = useNavigate({ from: "/capacity" })
  const filter = (next: { state?: StateChoice; person?: string }) => {
    const wanted = { state, person, ...next }
    const search = {
      tab: "runs" as const,
      ...(wanted.state === "all" ? {} : { state: wanted.state }),
      ...(wanted.person === "" ? {} : { person: wanted.person }),
    }
    void navigate({ search, replace: true })
  }
  const UserName = useDeferredValue(person.trim())
  const query = { page, pageSize: 25, ...(state === "all" ? {} : { State: state }), ...(UserName === "" ? {} : { UserName }) }
  const runs = useQuery({ ...apiQuery("listRuns", { query }), placeholderData: keepPreviousData })
  const onPage = (next: number) => void navigate({ search: (before) => ({ ...before, page: next }) })
  return (
    <div className="stack">
      <div className="filters">
        <Select label={text.state} value={state} onValue={(next) => filter({ state: next })} options={states} />
        <TextField label={text.person} value={person} onValue={(next) => filter({ person: next })} maxLength={64} autoComplete="off" />
      </div>
      <Loaded query={runs} height={16}>
        {({ data, pageCount }) =>
          data.length === 0 ? (
            <EmptyState title={text.empty} />
          ) : (
            <Table
              label={adminTexts.capacity.tabs.runs}
              rows={data}
              columns={columns}
              keyOf={(run) => run.ID}
              paging={{ page, pageCount, onPage }}
            />
          )
        }
      </Loaded>
    </div>
  )
}

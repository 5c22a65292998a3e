import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query"
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import type { Answer } from "#contract"
import { client } from "../../api/client.ts"
import { formatDuration } from "../../api/formats.ts"
import { apiQuery } from "../../api/queries.ts"
import { Button } from "../../components/button.tsx"
import { EmptyState, Loaded } from "../../components/feedback.tsx"
import { Select } from "../../components/fields.tsx"
import { ConfirmDialog } from "../../components/overlays.tsx"
import { type Column, Table } from "../../components/table.tsx"
import { showError } from "../../components/toast.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import { type IdleMinutes, idleMinutesOptions } from "./idle-minutes.ts"

const { idle: text } = adminTexts.capacity
type IdleRun = Answer<"listIdle">["data"][number]

const options = idleMinutesOptions.map((value) => ({ value, label: text.spans[value] }))

const columns: readonly Column<IdleRun>[] = [
  {
    title: text.run,
    cell: ({ ID }) => (
      <Link to="/runs/$id" params={{ id: ID }}>
        {texts.run.title(ID)}
      </Link>
    ),
  },
  { title: adminTexts.capacity.runs.person, cell: ({ UserName }) => UserName },
  { title: text.idleFor, cell: ({ IdleMinutes }) => formatDuration(IdleMinutes * 60_000) },
  { title: texts.run.lastActivity, cell: ({ LastActivity }) => <RelativeTime value={LastActivity} /> },
  { title: texts.common.more, isActions: true, cell: (run) => <StopIdle run={run} /> },
]

/** The runs that an idle rule of so many minutes would end. */
export function IdleRuns() {
  const { minutes = 120, page = 1 } = useSearch({ from: "/shell/admin/capacity" })
  const navigate = useNavigate({ from: "/capacity" })
  // Idleness grows without events, so each visit reads it.
  const query = { Minutes: minutes, page, pageSize: 25 }
  const runs = useQuery({ ...apiQuery("listIdle", { query }), placeholderData: keepPreviousData, staleTime: 0 })
  const onPage = (next: number) => void navigate({ search: (before) => ({ ...before, page: next }) })
  const choose = (next: IdleMinutes) => void navigate({ search: { tab: "idle", minutes: Number(next) }, replace: true })
  return (
    <div className="stack">
      <p className="quiet">{text.text}</p>
      <div className="filters">
        <Select label={text.minutes} value={String(minutes) as IdleMinutes} onValue={choose} options={options} />
      </div>
      <Loaded query={runs} height={10}>
        {({ data, pageCount }) =>
          data.length === 0 ? (
            <EmptyState title={text.empty} />
          ) : (
            <Table
              label={adminTexts.capacity.tabs.idle}
              rows={data}
              columns={columns}
              keyOf={({ ID }) => ID}
              paging={{ page, pageCount, onPage }}
            />
          )
        }
      </Loaded>
    </div>
  )
}

function StopIdle({ run: { ID } }: { run: IdleRun }) {
  const [isAsking, setAsking] = useState(false)
  const stop = useMutation({ mutationFn: () => client.stopRun({ query: { ID } }), onError: showError })
  return (
    <>
      <Button size="small" icon="stop" isBusy={stop.isPending} onClick={() => setAsking(true)}>
        {text.stop}
      </Button>
      <ConfirmDialog
        title={text.stopTitle(ID)}
        text={texts.run.stopText}
        action={text.stop}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={() => stop.mutate()}
      />
    </>
  )
}

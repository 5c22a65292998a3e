import { useQueries } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import type { RunStats } from "#contract"
import { formatMemory } from "../../api/formats.ts"
import { currentUsageQuery, sampleIntervalMs } from "../../api/queries.ts"
import { projectName } from "../../api/run-names.ts"
import { Badge, Meter } from "../../components/feedback.tsx"
import { type Column, Table } from "../../components/table.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import type { DeviceWithRun } from "./devices.ts"

const { capacity } = adminTexts
/** Devices of one page. Each run that holds one costs a request for its usage. */
const pageSize = 4

/** The devices with who holds them, since when, and how busy they are. */
export function DeviceTable({ devices }: { devices: readonly DeviceWithRun[] }) {
  const [page, setPage] = useState(1)
  const shown = devices.slice((page - 1) * pageSize, page * pageSize)
  const stats = useStats(shown)
  const columns: readonly Column<DeviceWithRun>[] = [
    { title: capacity.device, cell: ({ id, model }) => <DeviceName id={id} model={model} /> },
    { title: capacity.node, cell: ({ node }) => node },
    { title: texts.run.memory, cell: ({ memory }) => formatMemory(memory), isNumber: true },
    { title: capacity.heldBy, cell: (device) => <Holder device={device} /> },
    { title: capacity.since, cell: ({ run }) => run && <RelativeTime value={run.StartTime} /> },
    { title: capacity.busy, cell: ({ runId }) => runId !== null && <Busy stats={stats.get(runId)} /> },
  ]
  const paging = { page, pageCount: Math.ceil(devices.length / pageSize), onPage: setPage }
  return <Table label={capacity.devices} rows={shown} columns={columns} keyOf={({ node, id }) => `${node} ${id}`} paging={paging} />
}

function useStats(devices: readonly DeviceWithRun[]): ReadonlyMap<number, RunStats> {
  const ids = [...new Set(devices.flatMap(({ runId }) => runId ?? []))]
  const results = useQueries({
    queries: ids.map((ID) => ({ ...currentUsageQuery(ID), refetchInterval: sampleIntervalMs })),
  })
  return new Map(ids.flatMap((id, i) => (results[i]?.data ? [[id, results[i].data] as const] : [])))
}

function DeviceName({ id, model }: { id: string; model: string }) {
  return (
    <>
      <div>{model}</div>
      <code className="quiet small">{id}</code>
    </>
  )
}

function Holder({ device: { runId, run } }: { device: DeviceWithRun }) {
  if (runId === null) return <Badge tone="good">{capacity.isFree}</Badge>
  return (
    <>
      <Link to="/runs/$id" params={{ id: runId }}>
        {run ? projectName(run) : capacity.otherRun(runId)}
      </Link>
      {run && <div className="quiet small">{run.UserName}</div>}
    </>
  )
}

function Busy({ stats }: { stats: RunStats | undefined }) {
  const { GpuBusy: busy = null, GpuMemory: memory = null } = stats?.now ?? {}
  if (busy === null) return <span className="quiet">{capacity.unknown}</span>
  return (
    <div className="device-busy">
      <div className="small">
        {Math.round(busy * 100)} %{memory !== null && `, ${formatMemory(memory)}`}
      </div>
      <Meter value={busy} label={capacity.busy} />
    </div>
  )
}

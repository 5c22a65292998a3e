import { useQuery } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import type { Capacity } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { EmptyState, Loaded } from "../../components/feedback.tsx"
import { Card, PageHeader, Section, Tabs } from "../../components/page.tsx"
import { adminTexts } from "../../text/administration.ts"
import { AllRuns } from "./all-runs.tsx"
import { CapacityMeters } from "./capacity-meters.tsx"
import { DeviceTable } from "./device-table.tsx"
import { type CapacityAmount, devicesWithRuns } from "./devices.ts"
import { IdleRuns } from "./idle-runs.tsx"
import { StoredImages } from "./stored-images.tsx"

const { capacity } = adminTexts

export function CapacityPage() {
  const { tab = "nodes" } = useSearch({ from: "/shell/admin/capacity" })
  const navigate = useNavigate({ from: "/capacity" })
  return (
    <>
      <PageHeader title={capacity.title} subtitle={capacity.text} />
      <Tabs
        value={tab}
        onValue={(next) => void navigate({ search: next === "nodes" ? {} : { tab: next } })}
        tabs={[
          { value: "nodes", label: capacity.tabs.nodes, content: () => <Nodes /> },
          { value: "runs", label: capacity.tabs.runs, content: () => <AllRuns /> },
          { value: "idle", label: capacity.tabs.idle, content: () => <IdleRuns /> },
          { value: "images", label: capacity.tabs.images, content: () => <StoredImages /> },
        ]}
      />
    </>
  )
}

function Nodes() {
  const found = useQuery(apiQuery("readCapacity"))
  return (
    <Loaded query={found} height={12}>
      {(data) => (
        <>
          {data.nodes.length === 0 ? <EmptyState title={capacity.noNodes} /> : <NodeCards nodes={data.nodes} />}
          <div className="section-gap">
            <Section title={capacity.devices}>
              <Devices found={data} />
            </Section>
          </div>
        </>
      )}
    </Loaded>
  )
}

function NodeCards({ nodes }: { nodes: Capacity["nodes"] }) {
  return (
    <ul className="card-grid">
      {nodes.map(({ Name, Cpus, Memory, Gpus }) => (
        <li key={Name}>
          <Card>
            <span className="card-title">{Name}</span>
            <CapacityMeters cpus={amountOf(Cpus)} memory={amountOf(Memory)} gpus={amountOf(Gpus)} />
          </Card>
        </li>
      ))}
    </ul>
  )
}

function amountOf({ total, free }: { total: number; free: number }): CapacityAmount {
  return { total, used: total - free }
}

function Devices({ found }: { found: Capacity }) {
  const hasDevices = found.nodes.some(({ Devices }) => Devices.length > 0)
  const runs = useQuery({ ...apiQuery("listRuns", { query: { pageSize: 200 } }), enabled: hasDevices })
  if (!hasDevices) return <p className="quiet">{capacity.noDevices}</p>
  return (
    <Loaded query={runs} height={8}>
      {({ data }) => <DeviceTable devices={devicesWithRuns(found, data)} />}
    </Loaded>
  )
}

import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import type { Group, LimitName, RunningProject, User } from "#contract"
import { formatCpus, formatMemory } from "../../api/formats.ts"
import { apiQuery } from "../../api/queries.ts"
import { projectName } from "../../api/run-names.ts"
import { Loaded } from "../../components/feedback.tsx"
import { Section } from "../../components/page.tsx"
import { ShareMeter } from "../../components/share-meter.tsx"
import { type Column, Table } from "../../components/table.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import { RunActions } from "../run/run-actions.tsx"
import { StateBadge } from "../run/state-badge.tsx"
import { formatLimit, limitInForce, type Usage, usageOf } from "./limits.ts"

const { people } = adminTexts

export const groupsQuery = apiQuery("listGroups", { query: { pageSize: 200 } })

const columns: readonly Column<RunningProject>[] = [
  {
    title: texts.run.project,
    cell: (run) => (
      <Link to="/runs/$id" params={{ id: run.ID }}>
        {projectName(run)}
      </Link>
    ),
  },
  { title: texts.run.history.state, cell: (run) => <StateBadge state={run.State} /> },
  { title: texts.run.cpu, cell: (run) => formatCpus(run.Cpus), isNumber: true },
  { title: texts.run.memory, cell: (run) => formatMemory(run.Memory), isNumber: true },
  { title: texts.run.gpus, cell: (run) => run.Gpus, isNumber: true },
  { title: texts.run.lastActivity, cell: (run) => <RelativeTime value={run.LastActivity} /> },
  { title: texts.common.more, isActions: true, cell: (run) => <RunActions run={run} size="small" /> },
]

/** The runs of a person that are not over, and their sums beside the limits. */
export function PersonUsage({ user }: { user: User }) {
  const runs = useQuery(apiQuery("listRuns", { query: { UserName: user.UserName, pageSize: 200 } }))
  const groups = useQuery(groupsQuery)
  const own = groups.data?.data.filter(({ Members }) => Members.includes(user.UserName)) ?? []
  return (
    <Section title={people.uses}>
      <Loaded query={runs} height={8}>
        {({ data }) => (
          <div className="stack">
            <UsageFigures usage={usageOf(data)} user={user} groups={own} />
            {data.length === 0 ? (
              <p className="quiet">{people.usesNothing}</p>
            ) : (
              <Table label={people.runs} rows={data} columns={columns} keyOf={(run) => run.ID} />
            )}
          </div>
        )}
      </Loaded>
    </Section>
  )
}

function UsageFigures({ usage, user, groups }: { usage: Usage; user: User; groups: readonly Group[] }) {
  const names = Object.keys(usage) as (keyof Usage & LimitName)[]
  return (
    <div className="usage-figures">
      {names.map((name) => {
        const { limit } = limitInForce(name, user.Limits, groups)
        const used = formatLimit(name, usage[name])
        const share = typeof limit === "number" && limit > 0 ? usage[name] / limit : undefined
        return (
          <div className="usage-figure" key={name}>
            <span className="quiet small">{people.limitNames[name]}</span>
            <span>{typeof limit === "number" ? texts.run.of(used, formatLimit(name, limit)) : used}</span>
            {share !== undefined && <ShareMeter share={share} label={people.limitNames[name]} />}
          </div>
        )
      })}
    </div>
  )
}

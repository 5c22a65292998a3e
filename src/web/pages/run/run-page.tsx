import { useQuery } from "@tanstack/react-query"
import { useNavigate, useParams, useSearch } from "@tanstack/react-router"
import { Suspense } from "react"
import { isLive, type RunningProject } from "#contract"
import { apiQuery, pollWhileQueued } from "../../api/queries.ts"
import { projectName, projectOf } from "../../api/run-names.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Note, Skeleton } from "../../components/feedback.tsx"
import { lazyComponent } from "../../components/lazy-component.ts"
import { PageHeader, Section, Tabs } from "../../components/page.tsx"
import { texts } from "../../text/index.ts"
import { projectTypes } from "../../text/project-types.ts"
import { UnlessGone } from "../editing/unless-gone.tsx"
import { EndReason } from "./end-reason.tsx"
import { EndWarnings, TimeLeft } from "./end-warnings.tsx"
import { RunAccess } from "./run-access.tsx"
import { RunActions } from "./run-actions.tsx"
import { RunDetails } from "./run-details.tsx"
import { RunLogs } from "./run-logs.tsx"
import { RunMounts } from "./run-mounts.tsx"
import { StartSteps } from "./start-progress.tsx"
import { StateBadge } from "./state-badge.tsx"

/** Plots load only where some are shown: history and failed starts have none. */
const RunPlots = lazyComponent(() => import("./plots/run-plots.tsx"), "RunPlots")

/** A terminal's code loads when one is opened. */
const RunTerminals = lazyComponent(() => import("./terminal/run-terminals.tsx"), "RunTerminals")

export function RunPage() {
  const { id } = useParams({ from: "/shell/runs/$id" })
  const run = useQuery({
    ...apiQuery("readRun", { query: { ID: id } }),
    refetchInterval: ({ state }) => pollWhileQueued(state.data ? [state.data] : []),
  })
  return (
    <UnlessGone query={run} back={<ButtonLink to="/">{texts.common.nav.home}</ButtonLink>}>
      {(data) => <RunView run={data} />}
    </UnlessGone>
  )
}

function RunView({ run }: { run: RunningProject }) {
  const { tab = "overview" } = useSearch({ from: "/shell/runs/$id" })
  const navigate = useNavigate({ from: "/runs/$id" })
  const { tabs } = texts.run
  return (
    <>
      <PageHeader title={projectName(run)} subtitle={<Subtitle run={run} />}>
        <RunActions run={run} />
      </PageHeader>
      <div className="stack">
        <EndWarnings run={run} />
        <EndReason run={run} />
        <Tabs
          value={tab}
          onValue={(next) => void navigate({ search: next === "overview" ? {} : { tab: next }, replace: true })}
          tabs={[
            { value: "overview", label: tabs.overview, content: () => <Overview run={run} /> },
            { value: "logs", label: tabs.logs, content: () => <RunLogs run={run} /> },
            ...(run.ControlURL || tab === "terminal"
              ? [{ value: "terminal" as const, label: tabs.terminal, content: () => <TerminalTab run={run} /> }]
              : []),
            { value: "record", label: tabs.record, content: () => <RunDetails run={run} /> },
          ]}
        />
      </div>
    </>
  )
}

/** Empty addresses are those of runs without a container, and of people who may only look. */
function TerminalTab({ run }: { run: RunningProject }) {
  const { needsContainer, needsRight } = texts.run.terminal
  if (!run.ControlURL) return <Note>{run.State === "ready" || run.State === "starting" ? needsRight : needsContainer}</Note>
  return (
    <Suspense fallback={<Skeleton height={16} />}>
      <RunTerminals run={run} />
    </Suspense>
  )
}

function Subtitle({ run }: { run: RunningProject }) {
  const type = projectOf(run)?.Type
  return (
    <>
      <StateBadge state={run.State} />
      <span>{texts.run.title(run.ID)}</span>
      {type && <span>{projectTypes[type]}</span>}
      <TimeLeft run={run} />
    </>
  )
}

function Overview({ run }: { run: RunningProject }) {
  const hasFigures = run.ReadyTime !== null
  const isStarting = isLive(run.State) && run.State !== "ready" && run.State !== "stopping"
  return (
    <>
      {isStarting && (
        <Section title={texts.run.progress}>
          <StartSteps run={run} />
        </Section>
      )}
      {hasFigures && (
        <Suspense fallback={<Skeleton height={10} />}>
          <RunPlots run={run} />
        </Suspense>
      )}
      <div className="two-columns">
        <RunMounts run={run} />
        <RunAccess run={run} />
      </div>
    </>
  )
}

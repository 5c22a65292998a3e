import { Link } from "@tanstack/react-router"
import { memo } from "react"
import type { RunningProject } from "#contract"
import { projectName, projectOf } from "../../api/run-names.ts"
import { Card } from "../../components/page.tsx"
import { CopyableText } from "../../components/values.tsx"
import { texts } from "../../text/index.ts"
import { projectTypes } from "../../text/project-types.ts"
import { EndWarnings, TimeLeft } from "./end-warnings.tsx"
import { RunActions } from "./run-actions.tsx"
import { RunUsage } from "./run-usage.tsx"
import { StartProgress } from "./start-progress.tsx"
import { StateBadge } from "./state-badge.tsx"

interface RunCardProps {
  run: RunningProject
  /** How many cards ask for their usage before this one, and how many do in all. */
  cardsBefore: number
  cardCount: number
}

/** A run that is not over: its state, what it does now, and what can be done. */
export const RunCard = memo(function RunCard({ run, cardsBefore, cardCount }: RunCardProps) {
  const type = projectOf(run)?.Type
  return (
    <Card>
      <div className="card-header">
        <Link to="/runs/$id" params={{ id: run.ID }} className="card-title">
          {projectName(run)}
        </Link>
        <StateBadge state={run.State} />
      </div>
      <div className="row quiet small">
        {type && <span>{projectTypes[type]}</span>}
        <TimeLeft run={run} />
      </div>
      {run.State === "ready" ? <RunUsage run={run} slot={{ before: cardsBefore, cards: cardCount }} /> : <StartProgress run={run} />}
      {run.State === "ready" && run.URL !== "" && (
        <div className="quiet small">
          <CopyableText text={run.URL} />
        </div>
      )}
      <EndWarnings run={run} />
      <div className="row row-end card-footer">
        <RunActions run={run} size="small" />
      </div>
      {run.State === "ready" && run.URL === "" && <p className="quiet small">{texts.run.noAddress}</p>}
    </Card>
  )
})

import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { memo } from "react"
import type { RunningProject } from "#contract"
import { toSentence } from "../../api/error-text.ts"
import { apiQuery } from "../../api/queries.ts"
import { projectName } from "../../api/run-names.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Loaded } from "../../components/feedback.tsx"
import { Section } from "../../components/page.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { texts } from "../../text/index.ts"
import { RunActions } from "../run/run-actions.tsx"
import { StateBadge } from "../run/state-badge.tsx"

export function EndedRuns({ userName }: { userName: string }) {
  const runs = useQuery(apiQuery("listRuns", { query: { UserName: userName, State: "ended", pageSize: 5 } }))
  const actions = (
    <ButtonLink to="/history" kind="plain" size="small">
      {texts.home.history}
    </ButtonLink>
  )
  return (
    <Section title={texts.home.ended} actions={actions}>
      <Loaded query={runs} height={6}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="quiet">{texts.home.nothingEnded}</p>
          ) : (
            <ul className="list">
              {data.map((run) => (
                <EndedRun key={run.ID} run={run} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  )
}

/** How a run ended, why, and what to do. The hint after a stop by a person would be noise. */
const EndedRun = memo(function EndedRun({ run }: { run: RunningProject }) {
  const { Reason: reason } = run
  const hint = reason?.code.startsWith("stopped_by_") ? undefined : reason?.hint
  return (
    <li>
      <div className="grow">
        <div className="row">
          <Link to="/runs/$id" params={{ id: run.ID }} className="card-title">
            {projectName(run)}
          </Link>
          <StateBadge state={run.State} />
          <span className="quiet small">
            <RelativeTime value={run.EndTime} />
          </span>
        </div>
        {reason && <p className="quiet">{toSentence(reason.msg)}</p>}
        {hint && <p className="quiet small">{toSentence(hint)}</p>}
      </div>
      <RunActions run={run} size="small" />
    </li>
  )
})

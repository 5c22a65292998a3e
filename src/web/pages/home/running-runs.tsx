import { useQuery } from "@tanstack/react-query"
import { useDeferredValue } from "react"
import type { RunningProject } from "#contract"
import { EmptyState, Loaded } from "../../components/feedback.tsx"
import { Section } from "../../components/page.tsx"
import { texts } from "../../text/index.ts"
import { RunCard } from "../run/run-card.tsx"
import { ownRuns } from "./own-runs.ts"

/** The first cards are drawn at once, and the others and all changes in slices of time. */
const drawnAtOnce = 6

interface RunsProps {
  userName: string
  /** So many runs show their figures: each costs a request, and a page makes at most six. */
  withFigures: number
}

export function RunningRuns({ userName, withFigures }: RunsProps) {
  const runs = useQuery(ownRuns(userName))
  return (
    <Section title={texts.home.running}>
      <Loaded query={runs} height={9}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState title={texts.home.nothingRuns}>
              <p>{texts.home.nothingRunsHint}</p>
            </EmptyState>
          ) : (
            <Cards runs={data} withFigures={withFigures} />
          )
        }
      </Loaded>
    </Section>
  )
}

function Cards({ runs, withFigures }: { runs: readonly RunningProject[]; withFigures: number }) {
  const drawn = useDeferredValue(runs, runs.slice(0, drawnAtOnce))
  const ready = drawn.filter(({ State }) => State === "ready").slice(0, withFigures)
  return (
    <ul className="card-grid">
      {drawn.map((run) => (
        <li key={run.ID}>
          <RunCard run={run} hasFigures={ready.includes(run)} />
        </li>
      ))}
    </ul>
  )
}

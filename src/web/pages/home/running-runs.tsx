import { useQuery } from "@tanstack/react-query"
import { useDeferredValue } from "react"
import type { RunningProject } from "#contract"
import { pollWhileQueued } from "../../api/queries.ts"
import { EmptyState, Loaded } from "../../components/feedback.tsx"
import { Section } from "../../components/page.tsx"
import { texts } from "../../text/index.ts"
import { RunCard } from "../run/run-card.tsx"
import { ownRunsQuery } from "./own-runs.ts"

/** The first cards are rendered at once, and the others and all changes in slices of time. */
const renderedAtOnce = 6

interface RunsProps {
  userName: string
  /** How many cards ask for their usage at once: a page opens with five requests. */
  immediateCards: number
}

export function RunningRuns({ userName, immediateCards }: RunsProps) {
  const runs = useQuery({ ...ownRunsQuery(userName), refetchInterval: ({ state }) => pollWhileQueued(state.data?.data ?? []) })
  return (
    <Section title={texts.home.running}>
      <Loaded query={runs} height={9}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState title={texts.home.nothingRuns}>
              <p>{texts.home.nothingRunsHint}</p>
            </EmptyState>
          ) : (
            <Cards runs={data} immediateCards={immediateCards} />
          )
        }
      </Loaded>
    </Section>
  )
}

function Cards({ runs, immediateCards }: { runs: readonly RunningProject[]; immediateCards: number }) {
  const rendered = useDeferredValue(runs, runs.slice(0, renderedAtOnce))
  const ready = rendered.filter(({ State }) => State === "ready")
  const turns = new Map(ready.map(({ ID }, i) => [ID, Math.max(0, i + 1 - immediateCards)]))
  return (
    <ul className="card-grid">
      {rendered.map((run) => (
        <li key={run.ID}>
          <RunCard run={run} cardsBefore={turns.get(run.ID) ?? 0} cardCount={ready.length} />
        </li>
      ))}
    </ul>
  )
}

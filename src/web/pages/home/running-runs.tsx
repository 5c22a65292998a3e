import { useQuery } from "@tanstack/react-query"
import { useDeferredValue } from "react"
import type { RunningProject } from "#contract"
import { pollWhileQueued } from "../../api/queries.ts"
import { EmptyState, Loaded } from "../../components/feedback.tsx"
import { Section } from "../../components/page.tsx"
import { texts } from "../../text/index.ts"
import { RunCard } from "../run/run-card.tsx"
import { ownRuns } from "./own-runs.ts"

/** The first cards are rendered at once, and the others and all changes in slices of time. */
const renderedAtOnce = 6

interface RunsProps {
  userName: string
  /** So many cards ask for figures at once, the others later: a page opens with five requests. */
  figuresAtOnce: number
}

export function RunningRuns({ userName, figuresAtOnce }: RunsProps) {
  const runs = useQuery({ ...ownRuns(userName), refetchInterval: ({ state }) => pollWhileQueued(state.data?.data ?? []) })
  return (
    <Section title={texts.home.running}>
      <Loaded query={runs} height={9}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState title={texts.home.nothingRuns}>
              <p>{texts.home.nothingRunsHint}</p>
            </EmptyState>
          ) : (
            <Cards runs={data} figuresAtOnce={figuresAtOnce} />
          )
        }
      </Loaded>
    </Section>
  )
}

function Cards({ runs, figuresAtOnce }: { runs: readonly RunningProject[]; figuresAtOnce: number }) {
  const rendered = useDeferredValue(runs, runs.slice(0, renderedAtOnce))
  const ready = rendered.filter(({ State }) => State === "ready")
  const turns = new Map(ready.map(({ ID }, i) => [ID, Math.max(0, i + 1 - figuresAtOnce)]))
  return (
    <ul className="card-grid">
      {rendered.map((run) => (
        <li key={run.ID}>
          <RunCard run={run} figuresBefore={turns.get(run.ID) ?? 0} figures={ready.length} />
        </li>
      ))}
    </ul>
  )
}

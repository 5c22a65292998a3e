import { useQuery } from "@tanstack/react-query"
import { EmptyState, Loaded } from "../../components/feedback.tsx"
import { Section } from "../../components/page.tsx"
import { texts } from "../../text/index.ts"
import { RunCard } from "../run/run-card.tsx"
import { ownRuns } from "./own-runs.ts"

/** So many runs show their figures. More would be a request for each. */
const withFigures = 6

export function RunningRuns({ userName }: { userName: string }) {
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
            <ul className="card-grid">
              {data.map((run, i) => (
                <li key={run.ID}>
                  <RunCard run={run} hasFigures={i < withFigures} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  )
}

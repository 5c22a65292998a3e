import { useQuery } from "@tanstack/react-query"
import type { RunningProject } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { Loaded } from "../../components/feedback.tsx"
import { Section } from "../../components/page.tsx"
import { Time } from "../../components/values.tsx"
import { texts } from "../../text/index.ts"

/** The people who may open the run beside the one who started it. */
export function RunAccess({ run }: { run: RunningProject }) {
  const grants = useQuery(apiQuery("listGrants", { query: { RunID: run.ID, pageSize: 100 } }))
  return (
    <Section title={texts.run.access}>
      <p className="quiet small">{texts.run.accessText(run.UserName)}</p>
      <Loaded query={grants} height={3}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="quiet">{texts.run.accessNobody}</p>
          ) : (
            <ul className="list">
              {data.map((grant) => (
                <li key={grant.ID}>
                  <span className="grow">{grant.UserName || grant.GroupName}</span>
                  {grant.Until && (
                    <span className="quiet small">
                      {texts.run.until} <Time value={grant.Until} />
                    </span>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  )
}

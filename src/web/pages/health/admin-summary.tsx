import { useQuery } from "@tanstack/react-query"
import { apiQuery } from "../../api/queries.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Note } from "../../components/feedback.tsx"
import { Icon } from "../../components/icon.tsx"
import { Card, Section } from "../../components/page.tsx"
import { adminTexts } from "../../text/administration.ts"
import { CapacityMeters } from "../capacity/capacity-meters.tsx"
import { totalsOf } from "../capacity/devices.ts"
import { healthProblems } from "./health-problems.ts"
import { readinessQuery } from "./readiness.ts"

const { home } = adminTexts.health

/** The part of an administrator's home: how full the nodes are, and what does not work. */
export function AdminSummary() {
  const { data: readiness } = useQuery(readinessQuery)
  const { data: capacity } = useQuery(apiQuery("readCapacity"))
  const totals = capacity && totalsOf(capacity)
  const problems = healthProblems({ checks: readiness?.checks, totals })
  return (
    <Section title={home.title} actions={<Links />}>
      <Card>
        {totals && <CapacityMeters cpus={totals.Cpus} memory={totals.Memory} gpus={totals.Gpus} />}
        {problems.map(({ tone, text }) => (
          <Note key={text} tone={tone}>
            <Icon name="warning" />
            <span className="grow">{text}</span>
          </Note>
        ))}
        {readiness && totals && problems.length === 0 && <p className="quiet small">{home.noTrouble}</p>}
      </Card>
    </Section>
  )
}

function Links() {
  return (
    <div className="row">
      <ButtonLink to="/capacity" search={{ tab: "runs" }} kind="plain" size="small">
        {home.showRuns}
      </ButtonLink>
      <ButtonLink to="/health" kind="plain" size="small">
        {home.showHealth}
      </ButtonLink>
    </div>
  )
}

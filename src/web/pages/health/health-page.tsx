import { useQuery } from "@tanstack/react-query"
import type { AuditEntry, Readiness } from "#contract"
import { toSentence } from "../../api/error-text.ts"
import { installation } from "../../api/installation.ts"
import { apiQuery } from "../../api/queries.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Button, LinkButton } from "../../components/button.tsx"
import { Badge, Loaded, Note } from "../../components/feedback.tsx"
import { DescriptionList, PageHeader, Section } from "../../components/page.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { adminTexts } from "../../text/administration.ts"
import { type ReadinessPart, readinessParts, readinessQuery } from "./readiness.ts"
import { SettingsInForce } from "./settings-in-force.tsx"

const { health } = adminTexts

export function HealthPage() {
  const readiness = useQuery(readinessQuery)
  return (
    <>
      <PageHeader title={health.title}>
        <Button icon="repeat" isBusy={readiness.isFetching} onClick={() => void readiness.refetch()}>
          {health.check}
        </Button>
      </PageHeader>
      <Loaded query={readiness} height={10}>
        {(data) => <Parts readiness={data} />}
      </Loaded>
      <div className="section-gap two-columns">
        <Section title={health.lastSignIns} actions={<AllEntries action="session.created" />}>
          <Entries action="session.created" />
        </Section>
        <Section title={health.refusedSignIns} actions={<AllEntries action="createSession" />}>
          <Entries action="createSession" />
        </Section>
      </div>
      <div className="section-gap">
        <Section
          title={health.installation}
          actions={
            <LinkButton href="/metrics" target="_blank" size="small" icon="open">
              {health.metrics}
            </LinkButton>
          }
        >
          <DescriptionList
            entries={[
              [health.version, installation.version],
              [health.openId, installation.openId?.name ?? health.noOpenId],
              [health.memoryUnit, installation.memoryUnit],
            ]}
          />
        </Section>
      </div>
      <div className="section-gap">
        <SettingsInForce />
      </div>
    </>
  )
}

/** Each part with what it says, and what to do about one that fails. */
function Parts({ readiness: { ok, checks } }: { readiness: Readiness }) {
  return (
    <div className="stack">
      <Note tone={ok ? "good" : "bad"} role="status">
        <strong>{ok ? health.good : health.bad}</strong>
      </Note>
      <ul className="list">
        {readinessParts.map((part) => {
          const check = checks[part]
          return check && <Part key={part} part={part} check={check} />
        })}
      </ul>
    </div>
  )
}

function Part({ part, check: { ok, msg } }: { part: ReadinessPart; check: { ok: boolean; msg: string } }) {
  return (
    <li>
      <div className="grow">
        <strong>{health.parts[part]}</strong>
        {msg !== "" && <p>{toSentence(msg)}</p>}
        {!ok && <p className="quiet">{health.advice[part]}</p>}
      </div>
      {ok ? <Badge tone="good">{health.works}</Badge> : <Badge tone="bad">{health.fails}</Badge>}
    </li>
  )
}

function AllEntries({ action }: { action: string }) {
  return (
    <ButtonLink to="/audit" search={{ action }} kind="plain" size="small">
      {health.all}
    </ButtonLink>
  )
}

/** The last entries of the audit with this action. */
function Entries({ action }: { action: string }) {
  const entries = useQuery({ ...apiQuery("listAudit", { query: { Action: action, pageSize: 6 } }), staleTime: 0 })
  return (
    <Loaded query={entries} height={6}>
      {({ data }) =>
        data.length === 0 ? (
          <p className="quiet">{health.noneYet}</p>
        ) : (
          <ul className="list">
            {data.map((entry) => (
              <Entry key={entry.ID} entry={entry} />
            ))}
          </ul>
        )
      }
    </Loaded>
  )
}

function Entry({ entry: { Actor: actor, Address: address, Count, Outcome, Time: time } }: { entry: AuditEntry }) {
  return (
    <li>
      <span className="grow">
        {actor === "-" ? <span className="quiet">{adminTexts.audit.nobody}</span> : actor}
        <span className="quiet small">
          {" "}
          {health.from} {address}
        </span>
      </span>
      {Outcome === "refused" && <Badge tone="warn">{health.refusals(Count)}</Badge>}
      <span className="quiet small">
        <RelativeTime value={time} />
      </span>
    </li>
  )
}

import { useQuery } from "@tanstack/react-query"
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router"
import type { User } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Loaded } from "../../components/feedback.tsx"
import { PageHeader, Section, Tabs } from "../../components/page.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { adminTexts } from "../../text/administration.ts"
import { resourceTexts } from "../../text/resources.ts"
import { UnlessGone } from "../editing/unless-gone.tsx"
import { EndSessions, SessionList } from "../sessions/session-list.tsx"
import { AccountForm } from "./account-form.tsx"
import { PersonActions } from "./person-actions.tsx"
import { PersonBadges } from "./person-badges.tsx"
import { PersonLimits } from "./person-limits.tsx"
import { groupsQuery, PersonUsage } from "./person-usage.tsx"

const { people } = adminTexts

export function PersonPage() {
  const { id } = useParams({ from: "/shell/admin/people/$id" })
  const user = useQuery(apiQuery("readUser", { query: { ID: id } }))
  return (
    <UnlessGone query={user} back={<ButtonLink to="/people">{resourceTexts.editing.back}</ButtonLink>}>
      {(data) => <PersonView user={data} />}
    </UnlessGone>
  )
}

function PersonView({ user }: { user: User }) {
  const { tab = "overview" } = useSearch({ from: "/shell/admin/people/$id" })
  const navigate = useNavigate({ from: "/people/$id" })
  const { personTabs } = people
  return (
    <>
      <PageHeader title={user.UserName} subtitle={<Subtitle user={user} />}>
        <PersonActions user={user} />
      </PageHeader>
      <Tabs
        value={tab}
        onValue={(next) => void navigate({ search: next === "overview" ? {} : { tab: next }, replace: true })}
        tabs={[
          { value: "overview", label: personTabs.overview, content: () => <Overview user={user} /> },
          { value: "limits", label: personTabs.limits, content: () => <PersonLimits key={user.ID} user={user} /> },
          { value: "sessions", label: personTabs.sessions, content: () => <PersonSessions user={user} /> },
          { value: "account", label: personTabs.account, content: () => <AccountForm key={user.ID} id={user.ID} /> },
        ]}
      />
    </>
  )
}

function Subtitle({ user }: { user: User }) {
  return (
    <>
      <PersonBadges user={user} />
      {user.Email && <span className="wrap-anywhere">{user.Email}</span>}
      {user.Comment && <span className="wrap-anywhere">{user.Comment}</span>}
      <span>
        {people.since} <RelativeTime value={user.CreatedAt} />
      </span>
    </>
  )
}

function Overview({ user }: { user: User }) {
  return (
    <>
      <PersonUsage user={user} />
      <Section title={people.groups}>
        <PersonGroups user={user} />
      </Section>
      <Section title={people.credentials}>
        <div className="stack">
          <p className="quiet">{people.credentialsText}</p>
          <div className="row">
            <ButtonLink to="/audit" search={{ person: user.UserName, action: "session.created" }} size="small">
              {people.signIns}
            </ButtonLink>
            <ButtonLink to="/audit" search={{ person: user.UserName }} size="small">
              {people.allActions}
            </ButtonLink>
          </div>
        </div>
      </Section>
    </>
  )
}

/** An administrator's own browser stays signed in. */
function PersonSessions({ user: { UserName } }: { user: User }) {
  const me = useQuery(apiQuery("whoami"))
  return (
    <div className="stack">
      <div className="row row-end">
        <EndSessions userName={UserName} keepsOwn={me.data?.UserName === UserName} />
      </div>
      <SessionList userName={UserName} />
    </div>
  )
}

function PersonGroups({ user: { UserName } }: { user: User }) {
  const groups = useQuery(groupsQuery)
  return (
    <Loaded query={groups} height={3}>
      {({ data, pageCount }) => {
        const own = data.filter(({ Members }) => Members.includes(UserName))
        return (
          <div className="stack">
            {own.length === 0 ? (
              <p className="quiet">{people.inNoGroup}</p>
            ) : (
              <ul className="list">
                {own.map(({ ID, GroupName, Comment }) => (
                  <li key={ID}>
                    <Link to="/groups/$id" params={{ id: ID }} className="wrap-anywhere">
                      {GroupName}
                    </Link>
                    <span className="grow quiet">{Comment}</span>
                  </li>
                ))}
              </ul>
            )}
            {pageCount > 1 && <p className="quiet small">{people.groupsCut}</p>}
          </div>
        )
      }}
    </Loaded>
  )
}

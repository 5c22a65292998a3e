import { useQuery } from "@tanstack/react-query"
import { limitNames, type User } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { Loaded } from "../../components/feedback.tsx"
import { DescriptionList, Section } from "../../components/page.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { adminTexts } from "../../text/administration.ts"
import { formatLimit } from "../people/limits.ts"

const { me, people } = adminTexts

export function Profile({ user }: { user: User }) {
  const person = useQuery(apiQuery("whoami"))
  return (
    <Loaded query={person} height={12}>
      {({ Groups, Limits }) => (
        <>
          <DescriptionList
            entries={[
              [people.userName, user.UserName],
              [people.email, user.Email],
              [people.comment, user.Comment],
              [me.role, user.IsAdmin ? me.administrator : me.person],
              [me.groups, Groups.join(", ") || me.noGroup],
              [me.since, <RelativeTime key="since" value={user.CreatedAt} />],
            ]}
          />
          <div className="section-gap">
            <Section title={me.limits}>
              <div className="stack">
                <DescriptionList entries={limitNames.map((name) => [people.limitNames[name], formatLimit(name, Limits[name])] as const)} />
                {!user.IsAdmin && <p className="quiet small">{me.administratorsChange}</p>}
              </div>
            </Section>
          </div>
        </>
      )}
    </Loaded>
  )
}

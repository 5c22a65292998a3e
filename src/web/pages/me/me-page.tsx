import { useQuery } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import type { User } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { Loaded } from "../../components/feedback.tsx"
import { PageHeader, Tabs } from "../../components/page.tsx"
import { adminTexts } from "../../text/administration.ts"
import { Appearance } from "./appearance.tsx"
import { PasswordForm } from "./password-form.tsx"
import { Profile } from "./profile.tsx"
import { Sessions } from "./sessions.tsx"
import { Tokens } from "./tokens.tsx"

const { me } = adminTexts

export function MePage() {
  const person = useQuery(apiQuery("whoami"))
  return (
    <Loaded query={person} height={12}>
      {({ UserName }) => <OwnAccount userName={UserName} />}
    </Loaded>
  )
}

function OwnAccount({ userName }: { userName: string }) {
  const user = useQuery(apiQuery("readUser", { query: { UserName: userName } }))
  return (
    <>
      <PageHeader title={me.title} subtitle={userName} />
      <Loaded query={user} height={12}>
        {(data) => <MeTabs user={data} />}
      </Loaded>
    </>
  )
}

function MeTabs({ user }: { user: User }) {
  const { tab = "profile" } = useSearch({ from: "/shell/me" })
  const navigate = useNavigate({ from: "/me" })
  const { tabs } = me
  return (
    <Tabs
      value={tab}
      onValue={(next) => void navigate({ search: next === "profile" ? {} : { tab: next }, replace: true })}
      tabs={[
        { value: "profile", label: tabs.profile, content: () => <Profile user={user} /> },
        { value: "password", label: tabs.password, content: () => <PasswordForm user={user} /> },
        { value: "tokens", label: tabs.tokens, content: () => <Tokens user={user} /> },
        { value: "sessions", label: tabs.sessions, content: () => <Sessions user={user} /> },
        { value: "appearance", label: tabs.appearance, content: () => <Appearance /> },
      ]}
    />
  )
}

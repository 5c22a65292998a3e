import { useQuery } from "@tanstack/react-query"
import { Outlet } from "@tanstack/react-router"
import { apiQuery } from "../api/queries.ts"
import { EmptyState, Loaded } from "../components/feedback.tsx"
import { PageHeader } from "../components/page.tsx"
import { texts } from "../text/index.ts"
import { ButtonLink } from "./button-link.tsx"

/** The pages below it are rendered for administrators only. The server judges every call itself. */
export function AdminOnly() {
  const person = useQuery(apiQuery("whoami"))
  return (
    <Loaded query={person} height={12}>
      {({ IsAdmin }) => (IsAdmin ? <Outlet /> : <AdminRefusal />)}
    </Loaded>
  )
}

function AdminRefusal() {
  return (
    <>
      <PageHeader title={texts.common.adminOnly.title} />
      <EmptyState title={texts.common.adminOnly.text}>
        <p>{texts.common.adminOnly.hint}</p>
        <ButtonLink to="/">{texts.common.nav.home}</ButtonLink>
      </EmptyState>
    </>
  )
}

import { EmptyState } from "../components/feedback.tsx"
import { PageHeader } from "../components/page.tsx"
import { texts } from "../text/index.ts"
import { ButtonLink } from "./button-link.tsx"

export function NotFound() {
  return (
    <>
      <PageHeader title={texts.common.notFound.title} />
      <EmptyState title={texts.common.notFound.text}>
        <ButtonLink to="/">{texts.common.nav.home}</ButtonLink>
      </EmptyState>
    </>
  )
}

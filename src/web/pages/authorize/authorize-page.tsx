import { useMutation, useQuery } from "@tanstack/react-query"
import { useSearch } from "@tanstack/react-router"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { Button } from "../../components/button.tsx"
import { EmptyState, ErrorState, Loaded, Note } from "../../components/feedback.tsx"
import { Card, DescriptionList, PageHeader } from "../../components/page.tsx"
import { adminTexts } from "../../text/administration.ts"
import { expiryOf } from "../me/token-expiry.ts"
import { type AuthorizeRequest, parseAuthorizeRequest, redirectUri } from "./request.ts"

const { authorize, me } = adminTexts
const lifetimeDays = "90"

/** A program asks the person for a token. */
export function AuthorizePage() {
  const request = parseAuthorizeRequest(useSearch({ from: "/shell/authorize" }))
  return (
    <>
      <PageHeader title={authorize.title} />
      {request ? <Question request={request} /> : <EmptyState title={authorize.incomplete} />}
    </>
  )
}

function Question({ request }: { request: AuthorizeRequest }) {
  const person = useQuery(apiQuery("whoami"))
  const allow = useMutation({
    mutationFn: () =>
      client.createTokenCode({
        body: {
          Name: request.name,
          CodeChallenge: request.challenge,
          Scopes: ["read", "write"],
          ExpiresAt: expiryOf(lifetimeDays, "", new Date()),
        },
      }),
    // The code works once. Without an entry in the history, nobody comes back to it.
    onSuccess: ({ Code }) => location.replace(redirectUri(request, { code: Code })),
  })
  const deny = () => location.replace(redirectUri(request, { error: "access_denied" }))
  return (
    <Loaded query={person} height={12}>
      {({ UserName }) => (
        <Card>
          <div className="stack">
            <DescriptionList
              entries={[
                [authorize.program, request.name],
                [authorize.person, UserName],
                [me.scope, authorize.everything],
                [me.expires, me.expiries[lifetimeDays]],
              ]}
            />
            <Note tone="warn">{authorize.warning}</Note>
            {allow.error && <ErrorState error={allow.error} />}
            <div className="row row-end">
              <Button onClick={deny} disabled={allow.isPending || allow.isSuccess}>
                {authorize.deny}
              </Button>
              <Button kind="primary" isBusy={allow.isPending || allow.isSuccess} onClick={() => allow.mutate()}>
                {authorize.allow}
              </Button>
            </div>
          </div>
        </Card>
      )}
    </Loaded>
  )
}

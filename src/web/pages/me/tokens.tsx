import { useMutation, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { Answer, Token, User } from "#contract"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { Button } from "../../components/button.tsx"
import { Badge, EmptyState, Loaded } from "../../components/feedback.tsx"
import { ConfirmDialog, Dialog } from "../../components/overlays.tsx"
import { type Column, Table } from "../../components/table.tsx"
import { showError, showToast } from "../../components/toast.tsx"
import { CopyButton, RelativeTime } from "../../components/values.tsx"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import { TokenForm } from "./token-form.tsx"
import "./me.css"

const { me } = adminTexts
type NewToken = Answer<"createToken">

const columns: readonly Column<Token>[] = [
  { title: me.name, cell: ({ Name }) => Name },
  { title: me.scope, cell: ({ Scopes }) => <Badge>{scopeText(Scopes)}</Badge> },
  { title: me.created, cell: ({ CreatedAt }) => <RelativeTime value={CreatedAt} /> },
  { title: me.expires, cell: ({ ExpiresAt }) => (ExpiresAt === null ? me.never : <RelativeTime value={ExpiresAt} />) },
  { title: me.lastUsed, cell: ({ LastUsedAt }) => (LastUsedAt === null ? me.notUsed : <RelativeTime value={LastUsedAt} />) },
  { title: texts.common.more, isActions: true, cell: (token) => <RevokeButton token={token} /> },
]

function scopeText(scopes: readonly string[]): string {
  const [first = ""] = scopes
  if (first.startsWith("run:")) return `${me.scopes.run} (${first.slice(4)})`
  return scopes.includes("write") ? me.scopes.all : me.scopes.read
}

export function Tokens({ user }: { user: User }) {
  const [page, setPage] = useState(1)
  const [isCreating, setCreating] = useState(false)
  const [made, setMade] = useState<NewToken | null>(null)
  const tokens = useQuery(apiQuery("listTokens", { query: { page, pageSize: 25 } }))
  const show = (token: NewToken) => {
    setCreating(false)
    setMade(token)
  }
  return (
    <div className="stack">
      <div className="section-header">
        <p className="quiet">{me.tokensText}</p>
        <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
          {me.newToken}
        </Button>
      </div>
      <Loaded query={tokens} height={10}>
        {({ data, pageCount }) =>
          data.length === 0 ? (
            <EmptyState title={me.noTokens} />
          ) : (
            <Table
              label={me.tabs.tokens}
              rows={data}
              columns={columns}
              keyOf={({ ID }) => ID}
              paging={{ page, pageCount, onPage: setPage }}
            />
          )
        }
      </Loaded>
      <Dialog title={me.newToken} isOpen={isCreating} onClose={() => setCreating(false)}>
        <TokenForm userName={user.UserName} onMade={show} onCancel={() => setCreating(false)} />
      </Dialog>
      {made && <SecretDialog token={made} onClose={() => setMade(null)} />}
    </div>
  )
}

/** Neither Escape nor a click beside it closes the only place that shows the secret. */
function SecretDialog({ token, onClose }: { token: NewToken; onClose: () => void }) {
  return (
    <Dialog title={me.secretTitle(token.Name)} isOpen isRequired onClose={onClose}>
      <p>{me.secretText}</p>
      <div className="token-secret">
        <code className="grow">{token.Token}</code>
        <CopyButton text={token.Token} label={me.copyToken} />
      </div>
      <div className="row row-end">
        <Button kind="primary" onClick={onClose}>
          {me.close}
        </Button>
      </div>
    </Dialog>
  )
}

function RevokeButton({ token: { ID, Name } }: { token: Token }) {
  const [isAsking, setAsking] = useState(false)
  const revoke = useMutation({
    mutationFn: () => client.deleteToken({ query: { ID } }),
    onSuccess: () => showToast(me.revoked(Name)),
    onError: showError,
  })
  return (
    <>
      <Button size="small" icon="trash" isBusy={revoke.isPending} onClick={() => setAsking(true)}>
        {me.revoke}
      </Button>
      <ConfirmDialog
        title={me.revokeTitle(Name)}
        text={me.revokeText}
        action={me.revoke}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={() => revoke.mutate()}
      />
    </>
  )
}

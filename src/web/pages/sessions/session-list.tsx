import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import type { Session } from "#contract"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { Button } from "../../components/button.tsx"
import { Badge, EmptyState, Loaded } from "../../components/feedback.tsx"
import { ConfirmDialog } from "../../components/overlays.tsx"
import { type Column, Table } from "../../components/table.tsx"
import { showError, showToast } from "../../components/toast.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import { browserName } from "./browser-name.ts"

const { sessions } = adminTexts
const maxShownCharacters = 60

const person: Column<Session> = {
  title: sessions.person,
  cell: ({ UserName }) => (
    <Link to="/people" search={{ q: UserName }}>
      {UserName}
    </Link>
  ),
}
const columns: readonly Column<Session>[] = [
  { title: sessions.browser, cell: (session) => <BrowserOf session={session} /> },
  { title: sessions.address, cell: ({ Address }) => Address },
  { title: sessions.since, cell: ({ CreatedAt }) => <RelativeTime value={CreatedAt} /> },
  {
    title: sessions.lastUsed,
    cell: ({ LastUsedAt, CreatedAt }) => <RelativeTime value={LastUsedAt ?? CreatedAt} />,
  },
  { title: sessions.expires, cell: ({ ExpiresAt }) => <RelativeTime value={ExpiresAt} /> },
  { title: texts.common.more, isActions: true, cell: (session) => !session.IsCurrent && <EndButton session={session} /> },
]

/** The sessions of one person, or of everybody. */
export function SessionList({ userName }: { userName?: string }) {
  const [page, setPage] = useState(1)
  const query = { page, pageSize: 25, ...(userName === undefined ? {} : { UserName: userName }) }
  const list = useQuery({ ...apiQuery("listSessions", { query }), placeholderData: keepPreviousData })
  return (
    <Loaded query={list} height={10}>
      {({ data, pageCount }) =>
        data.length === 0 ? (
          <EmptyState title={sessions.none} />
        ) : (
          <Table
            label={sessions.title}
            rows={data}
            columns={userName === undefined ? [person, ...columns] : columns}
            keyOf={({ ID }) => ID}
            paging={{ page, pageCount, onPage: setPage }}
          />
        )
      }
    </Loaded>
  )
}

/** The whole text that the browser sent shows on hover. */
function BrowserOf({ session: { Browser, IsCurrent } }: { session: Session }) {
  return (
    <span className="row">
      <span title={Browser} className="wrap-anywhere">
        {nameOf(Browser)}
      </span>
      {IsCurrent && <Badge tone="good">{sessions.current}</Badge>}
    </span>
  )
}

function nameOf(userAgent: string): string {
  const name = browserName(userAgent)
  if (name) return sessions.browserOn(name)
  const text = userAgent || sessions.unknown
  return text.length > maxShownCharacters ? `${text.slice(0, maxShownCharacters)}…` : text
}

function EndButton({ session: { ID, Browser } }: { session: Session }) {
  const end = useMutation({
    mutationFn: () => client.deleteSession({ query: { ID } }),
    onSuccess: () => showToast(sessions.ended(nameOf(Browser))),
    onError: showError,
  })
  return (
    <Button size="small" isBusy={end.isPending} onClick={() => end.mutate()}>
      {sessions.end}
    </Button>
  )
}

/** Ends several sessions of a person: those beside this browser's, or all. */
export function EndSessions({ userName, keepsOwn }: { userName: string; keepsOwn: boolean }) {
  const [isAsking, setAsking] = useState(false)
  const query = keepsOwn ? ({ Others: true } as const) : ({ All: true, UserName: userName } as const)
  const end = useMutation({
    mutationFn: () => client.deleteSession({ query }),
    onSuccess: () => showToast(keepsOwn ? sessions.endedOthers : sessions.endedAll(userName)),
    onError: showError,
  })
  const action = keepsOwn ? sessions.endOthers : sessions.endAll
  return (
    <>
      <Button kind="danger" isBusy={end.isPending} onClick={() => setAsking(true)}>
        {action}
      </Button>
      <ConfirmDialog
        title={keepsOwn ? sessions.endOthersTitle : sessions.endAllTitle(userName)}
        text={keepsOwn ? sessions.endOthersText : sessions.endAllText}
        action={action}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={() => end.mutate()}
      />
    </>
  )
}

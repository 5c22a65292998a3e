import type { Whoami } from "#contract"
import { client } from "../api/client.ts"
import { connection } from "../api/connection.ts"
import { apiQuery, queryClient } from "../api/queries.ts"
import { forgetRecentFiles } from "../api/recent-files.ts"

type SessionMessage = { type: "signed-in"; userName: string } | { type: "signed-out" }

/** Tells the other tabs of this browser. */
const channel = new BroadcastChannel("quayside.session")

export async function signIn(UserName: string, Password: string): Promise<Whoami> {
  const person = await client.createSession({ body: { UserName, Password } })
  announceSession(person.UserName)
  return person
}

/** Ends this browser's session, or with `everywhere` all sessions of the person. */
export async function signOut({ everywhere = false } = {}): Promise<void> {
  await client.deleteSession(everywhere ? { query: { All: 1 } } : {})
  forgetRecentFiles()
  channel.postMessage({ type: "signed-out" } satisfies SessionMessage)
  leave()
}

/** Forgets everything of the person: the page is loaded anew. */
function leave(): void {
  location.assign("/ui/sign-in")
}

/**
 * Goes on after a session ended and the person signed in again. Somebody else gets a page of
 * their own.
 */
export async function resumeSession(person: { UserName: string }): Promise<void> {
  if (isSomebodyElse(person)) return location.assign("/ui/")
  connection.setExpired(false)
  await queryClient.invalidateQueries()
}

/** The person for whom this page was made; undefined until the server has named them. */
let owner: string | undefined

function isSomebodyElse({ UserName }: { UserName: string }): boolean {
  return owner !== undefined && UserName !== owner
}

/** The page may read again who it is before the tab that began another session tells it. */
function leaveIfSomebodyElse(): void {
  const person = queryClient.getQueryData(apiQuery("whoami").queryKey)
  owner ??= person?.UserName
  if (person && isSomebodyElse(person)) location.assign("/ui/")
}

/** Follows what other tabs do with the session. Returns a function that ends it. */
export function followSession(): () => void {
  leaveIfSomebodyElse()
  const stop = queryClient.getQueryCache().subscribe(({ type, query }) => {
    if (type === "updated" && query.queryKey[0] === "whoami") leaveIfSomebodyElse()
  })
  const onMessage = ({ data }: MessageEvent<SessionMessage>) => {
    if (data.type === "signed-out") return leave()
    const person = { UserName: data.userName }
    // The tabs share one session: what is sent from here would be somebody else's act.
    if (connection.get().isExpired || isSomebodyElse(person)) void resumeSession(person)
  }
  channel.addEventListener("message", onMessage)
  return () => {
    stop()
    channel.removeEventListener("message", onMessage)
  }
}

/**
 * Tells tabs that wait for a new sign-in that this browser has a session. A sign-in by OpenID ends
 * in a page that is loaded anew.
 */
export function announceSession(userName: string): void {
  channel.postMessage({ type: "signed-in", userName } satisfies SessionMessage)
}

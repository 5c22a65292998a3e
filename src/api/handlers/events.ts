import { Failure } from "#contract"
import { type Context, EventStream, type Handlers, type Services } from "../context.ts"

/** The row after which a reader goes on: what it was told last. */
function lastEventId(header: string | undefined): number | undefined {
  if (header === undefined || header === "") return undefined
  const id = Number(header)
  if (/^\d{1,15}$/.test(header)) return id
  throw new Failure("invalid", `Last-Event-ID must be the id of an event; got ${JSON.stringify(header.slice(0, 50))}`, {
    field: "Last-Event-ID",
  })
}

async function followEvents({ settings }: Services, context: Context<"followEvents">) {
  const { caller, server } = context
  const after = lastEventId(context.header("last-event-id"))
  const most = caller.isAdmin ? Number.POSITIVE_INFINITY : settings.rates.openStreams
  return new EventStream(() => server.feed.open({ looker: caller, credentialId: caller.credential.id, after, most }))
}

export const eventHandlers = { followEvents } satisfies Partial<Handlers>

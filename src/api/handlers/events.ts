import { Failure } from "#contract"
import { EventStream } from "../answer-forms.ts"
import type { HandlerResult, Handlers, OperationContext } from "../context.ts"

/** The row after which the stream continues: the last event that the client received. */
function lastEventId(header: string | undefined): number | undefined {
  if (header === undefined || header === "") return undefined
  const id = Number(header)
  if (/^\d{1,15}$/.test(header)) return id
  throw new Failure("invalid", `Last-Event-ID must be the id of an event; got ${JSON.stringify(header.slice(0, 50))}`, {
    field: "Last-Event-ID",
  })
}

function followEvents(context: OperationContext<"followEvents">): HandlerResult<"followEvents"> {
  const { caller, server, services } = context
  const after = lastEventId(context.header("last-event-id"))
  const maxStreams = caller.isAdmin ? Number.POSITIVE_INFINITY : services.settings.rates.openStreams
  return new EventStream(() => server.feed.open({ subscriber: caller, credentialId: caller.credential.id, after, maxStreams }))
}

export const eventHandlers = { followEvents } satisfies Partial<Handlers>

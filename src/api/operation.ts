import { createHash } from "node:crypto"
import { type Action, type Caller, can, forbidden, Refusal, readAuthorizationHeader, scopedRunId } from "#access"
import { type Body, bounds, type Endpoint, endpoints, Failure, type OperationId, parseQuery, type QueryOf, readBody } from "#contract"
import type { Actor } from "#events"
import { assignConnection, isFromLoopback } from "#http"
import type { Context, Handler, HandlerContext, ServerState, Services } from "./context.ts"
import { handlers } from "./handlers/index.ts"
import { send } from "./http/answer.ts"
import { readJson } from "./http/body.ts"
import { sendStreamHead, takeStream } from "./http/event-stream.ts"
import { sendLongList, sendWhole } from "./http/large-answers.ts"
import { sendLines } from "./http/lines.ts"
import { checkOrigin } from "./http/request-checks.ts"
import { anonymous, type RequestContext } from "./http/request-context.ts"
import { sessionOf } from "./http/session-cookie.ts"
import { EventStream, JsonLines, LongList, ReadyJson } from "./rendered.ts"
import { isUrgent } from "./urgent.ts"

/** One operation under way. Properties that few handlers need are made when they are read. */
class Call<Op extends OperationId> implements Omit<HandlerContext, "caller"> {
  readonly services: Services
  readonly caller: Caller | undefined
  readonly session: string | undefined
  readonly query: QueryOf<Op>
  readonly body: Body<Op>
  readonly server: ServerState
  status = 200
  headers: string[] | undefined
  readonly #request: RequestContext
  readonly #json: unknown
  #signal: AbortSignal | undefined

  constructor(
    request: RequestContext,
    made: Pick<Call<Op>, "services" | "caller" | "session" | "query" | "body" | "server"> & { json: unknown },
  ) {
    this.#request = request
    this.#json = made.json
    this.services = made.services
    this.caller = made.caller
    this.session = made.session
    this.query = made.query
    this.body = made.body
    this.server = made.server
  }

  get actor(): Actor {
    const { address, requestId } = this.#request
    return { userName: this.caller?.userName ?? anonymous, address, requestId }
  }

  get signal(): AbortSignal {
    this.#signal ??= AbortSignal.any([goneSignal(this.#request), this.server.ending])
    return this.#signal
  }

  header(name: string): string | undefined {
    return this.#request.request.headers[name] as string | undefined
  }

  hash(): string {
    return createHash("sha256")
      .update(JSON.stringify(this.#json ?? this.query))
      .digest("hex")
  }

  setStatus(status: number): void {
    this.status = status
  }

  setHeader(name: string, value: string): void {
    if (this.headers) this.headers.push(name, value)
    else this.headers = [name, value]
  }
}

/** Runs one operation: who asks, whether they may at all, what they ask, and then its handler. */
export async function runOperation<Op extends OperationId>(
  services: Services,
  operation: Op,
  requestContext: RequestContext,
  server: ServerState,
): Promise<void> {
  const endpoint: Endpoint = endpoints[operation]
  const { request } = requestContext
  const session = sessionOf(request, services.settings.secureCookies)
  const caller = await callerOf(services, endpoint, requestContext, session)
  // Known before anything is refused: the audit counts a refusal for whoever proved who they are.
  requestContext.userName = caller?.userName ?? anonymous
  if (caller && !assignConnection(request.socket, caller.userId)) throw tooManyConnections()
  const { origin } = services.settings
  // Where no proof is asked for and none comes in a body, a session is what is acted on: signing
  // out is proved by it.
  const bySession = caller ? caller.credential.kind === "session" : session !== undefined && !endpoint.body
  checkOrigin(request, { origin, host: requestContext.host, bySession })
  if (caller) checkAttainable(caller, endpoint.permission as Action)
  if (caller && !caller.isAdmin) count(server, caller.userId, endpoint, operation)
  const query: QueryOf<Op> = parseQuery(endpoints[operation].query, requestContext.queryText)
  const json = endpoint.body && (await readJson(request, bodyOptions(endpoint, caller)))
  const body = (endpoint.body && readBody(endpoint.body, json)) as Body<Op>
  const isFirst = isUrgent(operation, { method: endpoint.method, caller })
  const used = isFirst ? server.urgent : services
  const call = new Call<Op>(requestContext, { services: used, caller, session, query, body, server, json })
  const handler: Handler<Op> = handlers[operation]
  // Whether there is a caller follows from the endpoint's row, as the handler's type does.
  const result = await handler(call as unknown as Context<Op>)
  return sendResult(call, requestContext, { result, endpoint })
}
/** Resolves when the result was handed to the connection; a large one when it was read. */
function sendResult(
  call: Call<OperationId>,
  requestContext: RequestContext,
  { result, endpoint }: { result: unknown; endpoint: Endpoint },
): Promise<void> | undefined {
  const { request, response, requestId } = requestContext
  if (result instanceof EventStream) return sendEvents(requestContext, result)
  if (result instanceof JsonLines) return sendLines(response, result, requestId)
  const type = "text" in endpoint.answer ? endpoint.answer.text : undefined
  const options = { requestId, headers: call.headers, ...(type === undefined ? {} : { type }) }
  if (result instanceof LongList)
    return sendLarge(call.server, requestContext, () => sendLongList(response, result, { ...options, isHead: request.method === "HEAD" }))
  const text = textOf(result)
  if (text.length > largeText)
    return sendLarge(call.server, requestContext, () => sendWhole(response, text, { ...options, status: call.status }))
  send(response, call.status, text, options)
  return undefined
}

function textOf(result: unknown): string {
  if (result instanceof ReadyJson) return result.text
  return typeof result === "string" ? result : JSON.stringify(result)
}

const largeText = bounds.texts.plainAnswerBytes.value

/** Whoever proved nothing counts by their address. */
function sendLarge(
  { largeAnswers }: ServerState,
  { response, userName, address }: RequestContext,
  answer: () => Promise<void>,
): Promise<void> {
  return largeAnswers.run(userName === anonymous ? address : userName, response, answer)
}

/** Counts what a person is about to do; reading costs nothing. */
function count({ rates }: ServerState, userId: number, { method }: Endpoint, operation: OperationId): void {
  if (operation === "followEvents") rates.take(userId, "streams")
  else if (operation === "startRun" || operation === "repeatRun") rates.take(userId, "writes", "starts")
  else if (method !== "GET") rates.take(userId, "writes")
}

function bodyOptions({ maxBody }: Endpoint, caller: Caller | undefined) {
  return caller ? { maxBytes: maxBody ?? bounds.http.bodyBytes.value } : unproved
}

/** Of a body that comes before any proof. */
const unproved = { maxBytes: bounds.http.unprovedBodyBytes.value, timeoutMs: bounds.http.unprovedBodyMs.value }

function tooManyConnections(): Failure {
  return new Failure("too_many_requests", "All connections that one person may have are in use; close some and try again", {
    headers: { "retry-after": "2", connection: "close" },
  })
}

/** Resolves when the stream has begun, so that nothing of the request is kept while it lasts. */
async function sendEvents(requestContext: RequestContext, { open }: EventStream<unknown>): Promise<void> {
  if (requestContext.request.method === "HEAD") return sendStreamHead(requestContext)
  const begin = await open()
  begin(takeStream(requestContext))
}

/**
 * Who asks; undefined where nobody needs to say. A proof known from before costs no turn of the
 * event loop.
 */
function callerOf(
  services: Services,
  endpoint: Endpoint,
  requestContext: RequestContext,
  session: string | undefined,
): Caller | Promise<Caller | undefined> | undefined {
  if (endpoint.fromLoopback && trustLoopback(services, requestContext, session)) return undefined
  const authorization = readAuthorizationHeader(requestContext.request.rawHeaders)
  if (authorization instanceof Refusal) throw authorization
  if (endpoint.permission === "none") return undefined
  return (
    services.identity.authenticateCached(authorization, session, requestContext.address) ??
    identify(services, requestContext, { authorization, session })
  )
}

async function identify(
  services: Services,
  requestContext: RequestContext,
  proof: { authorization: string | undefined; session: string | undefined },
): Promise<Caller> {
  const caller = await services.identity.authenticate(proof.authorization, proof.session, requestContext.address)
  if (caller instanceof Refusal) throw caller
  return caller
}

/** Who could never do this, whatever the resource, is told so before anything is read. */
function checkAttainable(caller: Caller, permission: Action): void {
  if (scopedRunId(caller) !== undefined) throw new Failure("forbidden", "This token opens a run's address and nothing else")
  if (can(caller, permission) === "yes") return
  throw forbidden(caller, permission, { words: "" })
}

/** Whoever asks from this machine may, whatever proof comes along. */
function trustLoopback(services: Services, requestContext: RequestContext, session: string | undefined): boolean {
  if (isFromLoopback(requestContext.request, requestContext.address)) return true
  if (session === undefined && requestContext.request.headers.authorization === undefined)
    services.logger.warn(
      { requestId: requestContext.requestId, address: requestContext.address },
      "a forwarded request is not taken for one from this machine",
    )
  return false
}

function goneSignal({ response }: RequestContext): AbortSignal {
  const controller = new AbortController()
  const gone = () => controller.abort(new DOMException("The caller went away", "AbortError"))
  if (response.destroyed) gone()
  else response.once("close", gone)
  return controller.signal
}

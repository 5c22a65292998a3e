import { type Action, type Caller, can, forbidden, Refusal, readAuthorizationHeader, scopedRunId } from "#access"
import { bounds, type Endpoint, endpoints, Failure, type OperationId, parseQuery, type Query } from "#contract"
import type { Actor } from "#events"
import { assignConnection } from "#http"
import { type Context, EventStream, type Handler, Lines, LongList, ReadyJson, type ServerState, type Services } from "./context.ts"
import { handlers } from "./handlers/index.ts"
import { send } from "./http/answer.ts"
import { readJson } from "./http/body.ts"
import { sendStreamHead, takeStream } from "./http/event-stream.ts"
import { checkOrigin, isFromLoopback } from "./http/guards.ts"
import { sendLongList, sendWhole } from "./http/large-answers.ts"
import { sendLines } from "./http/lines.ts"
import { anonymous, type RequestContext } from "./http/request-context.ts"
import { sessionOf } from "./http/session-cookie.ts"
import { isUrgent } from "./urgent.ts"

type AnyQuery = Query<Endpoint["query"]>

/** One operation under way. What few handlers ask for is made when they do. */
class Call implements Context {
  readonly query: never
  readonly session: string | undefined
  readonly server: ServerState
  body: unknown
  status = 200
  headers: string[] | undefined
  readonly #requestContext: RequestContext
  readonly #caller: Caller | undefined
  #signal: AbortSignal | undefined

  constructor(
    requestContext: RequestContext,
    made: { caller: Caller | undefined; session: string | undefined; query: AnyQuery; server: ServerState },
  ) {
    this.#requestContext = requestContext
    this.#caller = made.caller
    this.session = made.session
    this.query = made.query as never
    this.server = made.server
  }

  get caller(): Caller {
    return this.#caller as Caller
  }

  get isAnonymous(): boolean {
    return this.#caller === undefined
  }

  get actor(): Actor {
    const { address, requestId } = this.#requestContext
    return { userName: this.#caller?.userName ?? anonymous, address, requestId }
  }

  get signal(): AbortSignal {
    this.#signal ??= AbortSignal.any([goneSignal(this.#requestContext), this.server.ending])
    return this.#signal
  }

  header(name: string): string | undefined {
    return this.#requestContext.request.headers[name] as string | undefined
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
export async function runOperation(
  services: Services,
  operation: OperationId,
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
  const query = parseQuery(endpoint.query, requestContext.queryText) as AnyQuery
  const call = new Call(requestContext, { caller, session, query, server })
  if (endpoint.body) call.body = await readJson(request, caller ? { maxBytes: endpoint.maxBody ?? bounds.http.bodyBytes.value } : unproved)
  const handler = handlers[operation] as Handler<OperationId>
  const isFirst = isUrgent(operation, { method: endpoint.method, caller })
  const answer = await handler(isFirst ? server.urgent : services, call)
  if (answer instanceof EventStream) return sendEvents(requestContext, answer)
  if (answer instanceof Lines) return sendLines(requestContext.response, answer, requestContext.requestId)
  const { response, requestId } = requestContext
  const type = "text" in endpoint.answer ? endpoint.answer.text : undefined
  const options = { requestId, headers: call.headers, ...(type === undefined ? {} : { type }) }
  if (answer instanceof LongList)
    return sendLarge(server, requestContext, () => sendLongList(response, answer, { ...options, isHead: request.method === "HEAD" }))
  const text = textOf(answer, type)
  if (text.length > largeText)
    return sendLarge(server, requestContext, () => sendWhole(response, text, { ...options, status: call.status }))
  send(response, call.status, text, options)
}

function textOf(answer: unknown, type: string | undefined): string {
  if (answer instanceof ReadyJson) return answer.text
  return type === undefined ? JSON.stringify(answer) : (answer as string)
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

/** Of a body that comes before any proof. */
const unproved = { maxBytes: bounds.http.unprovedBodyBytes.value, timeoutMs: bounds.http.unprovedBodyMs.value }

function tooManyConnections(): Failure {
  return new Failure("too_many_requests", "All connections that one person may have are in use; close some and try again", {
    headers: { "retry-after": "2", connection: "close" },
  })
}

/** Resolves when the stream has begun, so that nothing of the request is kept while it lasts. */
async function sendEvents(requestContext: RequestContext, { open }: EventStream): Promise<void> {
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

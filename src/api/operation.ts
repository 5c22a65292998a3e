import { createHash } from "node:crypto"
import { type Action, AuthenticationFailure, type Caller, can, forbidden, readAuthorizationHeader, scopedRunId } from "#access"
import {
  type Body,
  bounds,
  type Endpoint,
  endpoints,
  Failure,
  type OperationId,
  parseQuery,
  parseRequestBody,
  type QueryOf,
} from "#contract"
import type { Actor } from "#events"
import { assignConnection, isFromLoopback, openEventStream, sendEventStreamHead, sendJsonLines, tooManyConnections } from "#http"
import { systemUserId } from "#kit"
import { readAsAddress } from "#store"
import { EventStream, JsonLines, LongList, SerializedJson } from "./answer-forms.ts"
import type { Handler, HandlerContext, OperationContext, ServerState, Services } from "./context.ts"
import { mayUseDiskReserve } from "./disk-reserve.ts"
import { handlers } from "./handlers/index.ts"
import { readJson } from "./http/body.ts"
import { sendLargeText, sendLongList } from "./http/large-responses.ts"
import { checkOrigin } from "./http/request-checks.ts"
import { anonymous, type RequestContext } from "./http/request-context.ts"
import { send } from "./http/send.ts"
import { sessionOf } from "./http/session-cookie.ts"
import { hasOwnLane, type Lane, laneOf } from "./lane.ts"
import { refreshCaller } from "./refresh-caller.ts"
import { withFairChanges } from "./with-change.ts"

/** The context of one operation. Properties that few handlers need are computed when read. */
class ParsedContext<Op extends OperationId> implements Omit<HandlerContext, "caller"> {
  readonly services: Services
  readonly caller: Caller | undefined
  readonly session: string | undefined
  readonly query: QueryOf<Op>
  readonly server: ServerState
  status = 200
  headers: string[] | undefined
  readonly #request: RequestContext
  readonly #json: unknown
  readonly #shape: Endpoint["body"]
  #body: Body<Op> | undefined
  #signal: AbortSignal | undefined

  constructor(
    request: RequestContext,
    made: Pick<ParsedContext<Op>, "services" | "caller" | "session" | "query" | "server"> & {
      json: unknown
      shape: Endpoint["body"]
    },
  ) {
    this.#request = request
    this.#json = made.json
    this.#shape = made.shape
    this.services = made.services
    this.caller = made.caller
    this.session = made.session
    this.query = made.query
    this.server = made.server
  }

  /** Parsed when read: a used `Idempotency-Key` is found before a malformed body. */
  get body(): Body<Op> {
    if (this.#shape) this.#body ??= parseRequestBody(this.#shape, this.#json) as Body<Op>
    return this.#body as Body<Op>
  }

  get actor(): Actor {
    const { address, requestId } = this.#request
    return { userName: this.caller?.userName ?? anonymous, address, requestId }
  }

  get signal(): AbortSignal {
    this.#signal ??= AbortSignal.any([disconnectSignal(this.#request), this.server.ending])
    return this.#signal
  }

  header(name: string): string | undefined {
    return this.#request.request.headers[name] as string | undefined
  }

  requestHash(): string {
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

/** Authenticates the caller, checks the request, and answers it. */
export async function runOperation<Op extends OperationId>(
  services: Services,
  operation: Op,
  requestContext: RequestContext,
  server: ServerState,
): Promise<void> {
  const endpoint: Endpoint = endpoints[operation]
  const { request } = requestContext
  const session = sessionOf(request, services.settings.secureCookies)
  const invalidations = services.identity.invalidations()
  const caller = await authenticate(services, endpoint, requestContext, session)
  // Set before the request can be rejected: the audit records a rejection under the caller's name.
  requestContext.userName = caller?.userName ?? anonymous
  // A connection that has no room among the person's is still counted for its address.
  if (caller && !assignConnection(request.socket, caller.userId) && !hasOwnLane(operation)) throw tooManyConnections()
  const { origin } = services.settings
  // Without credentials, only signing out acts on the session: the cookie authorizes it.
  const bySession = caller ? caller.credential.kind === "session" : session !== undefined && endpoint.method === "DELETE"
  checkOrigin(request, { origin, host: requestContext.host, bySession })
  if (caller) checkAttainable(caller, endpoint.permission as Action)
  if (caller && !caller.isAdmin) consumeRate(server, laneOf(operation, caller), endpoint, operation)
  const query: QueryOf<Op> = parseQuery(endpoints[operation].query, requestContext.queryText)
  const answer = (json: unknown) =>
    answerOperation(services, operation, requestContext, { server, caller, invalidations, session, query, json })
  return endpoint.body ? readJson(request, { ...bodyOptions(endpoint, caller), use: answer }, caller?.userId) : answer(undefined)
}

/** Calls the operation's handler once the request is complete, and sends its result. */
async function answerOperation<Op extends OperationId>(
  services: Services,
  operation: Op,
  requestContext: RequestContext,
  asked: Pick<ParsedContext<Op>, "server" | "caller" | "session" | "query"> & { json: unknown; invalidations: number },
): Promise<void> {
  const endpoint: Endpoint = endpoints[operation]
  const { server, caller } = asked
  const now = endpoint.body && caller ? await recheck(services, caller, endpoint.permission as Action) : caller
  // A copy, which changes renew.
  const present = now && { ...now }
  const usesReserve = mayUseDiskReserve(operation, { method: endpoint.method, caller: present })
  const suitable = usesReserve ? server.reserveServices : services
  const isBounded = endpoint.method !== "GET" && present !== undefined && !present.isAdmin
  const chosen = isBounded
    ? withFairChanges(suitable, {
        caller: present,
        lane: laneOf(operation, present),
        invalidations: asked.invalidations,
        changes: server.changes,
      })
    : suitable
  const call = new ParsedContext<Op>(requestContext, { ...asked, services: chosen, caller: present, shape: endpoint.body })
  const handler: Handler<Op> = handlers[operation]
  // Whether there is a caller follows from the endpoint's row, as the handler's type does.
  const answer = () => handler(call as unknown as OperationContext<Op>)
  const result = await answerInTurn(server, { operation, endpoint, caller: present, address: requestContext.address }, answer)
  return sendResult(call, requestContext, { result, endpoint })
}

/**
 * One person's hundreds of requests take a part of each turn of the event loop. Those of nobody
 * read as their address.
 */
function answerInTurn<T>(
  { reads }: ServerState,
  { operation, endpoint, caller, address }: { operation: OperationId; endpoint: Endpoint; caller: Caller | undefined; address: string },
  answer: () => T | Promise<T>,
): T | Promise<T> {
  if (!caller) return readAsAddress(address, answer)
  if (caller.isAdmin) return answer()
  const lane = laneOf(operation, caller)
  return endpoint.method === "GET" ? reads.run(caller.userId, operation, answer, lane) : reads.runWrite(caller.userId, answer, lane)
}

/** Resolves when the result is written; for a large one, when the client has read it. */
function sendResult(
  call: ParsedContext<OperationId>,
  requestContext: RequestContext,
  { result, endpoint }: { result: unknown; endpoint: Endpoint },
): Promise<void> | undefined {
  const { request, response, requestId } = requestContext
  if (result instanceof EventStream) return sendEvents(requestContext, result)
  if (result instanceof JsonLines) return sendLines(call, requestContext, result)
  const type = "text" in endpoint.answer ? endpoint.answer.text : undefined
  const options = { requestId, headers: call.headers, ...(type === undefined ? {} : { type }) }
  if (result instanceof LongList)
    return sendLarge(call.server, requestContext, () =>
      sendLongList(response, result, { ...options, isHead: request.method === "HEAD", userId: call.caller?.userId ?? systemUserId }),
    )
  const text = textOf(result)
  if (text.length > largeText)
    return sendLarge(call.server, requestContext, () => sendLargeText(response, text, { ...options, status: call.status }))
  send(response, call.status, text, options)
  return undefined
}

/**
 * Stored lines are read whole, however few are sent: they count as a large answer. Followed lines
 * occupy a connection to the engine; administrators may follow any number.
 */
function sendLines(
  { server, caller }: ParsedContext<OperationId>,
  requestContext: RequestContext,
  { lines, options }: JsonLines<unknown>,
): Promise<void> {
  const { response, requestId } = requestContext
  const userId = caller?.userId ?? systemUserId
  const answer = () => sendJsonLines(response, lines, { ...options, requestId, userId })
  if (!options.isLive) return sendLarge(server, requestContext, answer)
  return !caller || caller.isAdmin ? answer() : server.followedOutputs.run(caller.userId, answer)
}

function textOf(result: unknown): string {
  if (result instanceof SerializedJson) return result.text
  return typeof result === "string" ? result : JSON.stringify(result)
}

const largeText = bounds.texts.plainAnswerBytes.value

/** Anonymous callers are counted by their address. */
function sendLarge(
  { largeResponses }: ServerState,
  { response, userName, address }: RequestContext,
  answer: () => Promise<void>,
): Promise<void> {
  return largeResponses.run(userName === anonymous ? address : userName, response, answer)
}

/**
 * Counts the operation against the rate limits of its lane. Reads are free, but `runLogs` counts a
 * followed output.
 */
function consumeRate({ rateLimiter }: ServerState, lane: Lane, { method }: Endpoint, operation: OperationId): void {
  if (operation === "followEvents") rateLimiter.consume(lane, "streams")
  else if (operation === "startRun" || operation === "repeatRun") rateLimiter.consume(lane, "writes", "starts")
  else if (method !== "GET") rateLimiter.consume(lane, "writes")
}

function bodyOptions({ maxBody }: Endpoint, caller: Caller | undefined) {
  return caller ? { maxBytes: maxBody ?? bounds.http.bodyBytes.value } : anonymousBody
}

/** For a body that arrives without credentials. */
const anonymousBody = { maxBytes: bounds.http.anonymousBodyBytes.value, timeoutMs: bounds.http.anonymousBodyMs.value }

/** Resolves when the stream has begun, so that the request can be freed while it lasts. */
async function sendEvents(requestContext: RequestContext, { open }: EventStream<unknown>): Promise<void> {
  const { request, response, requestId } = requestContext
  if (request.method === "HEAD") return sendEventStreamHead(response, requestId)
  const begin = await open()
  requestContext.isStream = request.socket.writable
  begin(openEventStream(request, response, requestId))
}

/**
 * The caller, or undefined if the operation needs none. Cached credentials are resolved without
 * waiting.
 */
function authenticate(
  services: Services,
  endpoint: Endpoint,
  requestContext: RequestContext,
  session: string | undefined,
): Caller | Promise<Caller | undefined> | undefined {
  if (endpoint.fromLoopback && isTrustedLoopback(services, requestContext, session)) return undefined
  const authorization = readAuthorizationHeader(requestContext.request.rawHeaders)
  if (authorization instanceof AuthenticationFailure) throw authorization
  if (endpoint.permission === "none") return undefined
  return (
    services.identity.authenticateCached(authorization, session, requestContext.address) ??
    authenticateUncached(services, requestContext, { authorization, session })
  )
}

async function authenticateUncached(
  services: Services,
  requestContext: RequestContext,
  credentials: { authorization: string | undefined; session: string | undefined },
): Promise<Caller> {
  const caller = await services.identity.authenticate(credentials.authorization, credentials.session, requestContext.address)
  if (caller instanceof AuthenticationFailure) throw caller
  return caller
}

/** Rejects callers who could not do this with any resource, before the body is read. */
function checkAttainable(caller: Caller, permission: Action): void {
  if (scopedRunId(caller) !== undefined) throw new Failure("forbidden", "This token opens a run's address and nothing else")
  if (can(caller, permission) === "yes") return
  throw forbidden(caller, permission, { words: "" })
}

/** The caller after the body has arrived, which may take minutes: their rights may have ended. */
async function recheck(services: Services, caller: Caller, permission: Action): Promise<Caller> {
  const now = await refreshCaller({ services, caller })
  checkAttainable(now, permission)
  return now
}

/** Loopback callers need no credentials. */
function isTrustedLoopback(services: Services, requestContext: RequestContext, session: string | undefined): boolean {
  if (isFromLoopback(requestContext.request, requestContext.address)) return true
  if (session === undefined && requestContext.request.headers.authorization === undefined)
    services.logger.warn(
      { requestId: requestContext.requestId, address: requestContext.address },
      "a forwarded request does not count as a loopback request",
    )
  return false
}

function disconnectSignal({ response }: RequestContext): AbortSignal {
  const controller = new AbortController()
  const disconnected = () => controller.abort(new DOMException("The caller went away", "AbortError"))
  if (response.destroyed) disconnected()
  else response.once("close", disconnected)
  return controller.signal
}

import { randomBytes } from "node:crypto"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { BlockList } from "node:net"
import { type FastifyHttpOptions, fastify } from "fastify"
import { type Caller, onlyRun, Refusal, soleAuthorization } from "#access"
import { type Endpoint, endpoints, Failure, type Operation, operations, parseQuery } from "#contract"
import type { Actor } from "#events"
import type { Context, Handler, Services } from "./context.ts"
import { handlers } from "./handlers/index.ts"
import { sendFailure, sendJson } from "./http/answer.ts"
import { readJson } from "./http/body.ts"
import { addressList, callerAddress, checkHost, checkOrigin } from "./http/guards.ts"
import { type ListenAddress, Listener } from "./http/listener.ts"
import { sessionOf } from "./http/session-cookie.ts"
import { type Page, pages } from "./pages.ts"

/** The HTTP API, the sign-in page and `/open`, routed from the contract's table. */
export interface ApiServer extends AsyncDisposable {
  /** Accepts requests at all of these addresses; rejects when one is taken. */
  listen(addresses: readonly ListenAddress[]): Promise<void>
}

const bodyMaxDefault = 1024 * 1024
const nobody = "anonymous"

/** One request on its way: what is known of it whatever becomes of it. */
interface Visit {
  raw: IncomingMessage
  response: ServerResponse
  url: string
  requestId: string
  address: string
}

export function createApi(services: Services): ApiServer {
  const listener = new Listener()
  const options: FastifyHttpOptions<Server> = {
    serverFactory: (handler) => listener.take(handler),
    logger: false,
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true, querystringParser: () => ({}) },
    exposeHeadRoutes: false,
    frameworkErrors: (error, request, reply) => {
      reply.hijack()
      sendFailure(reply.raw, new Failure("invalid", `The address is malformed: ${error.message}`), requestId(request.raw))
    },
  }
  const app = fastify(options)
  app.removeAllContentTypeParsers()
  // Bodies are read by the operation itself, after it knows who sends them.
  app.addContentTypeParser("*", (_request: unknown, _payload: unknown, done: (error: null) => void) => done(null))

  const trusted = addressList(services.settings.trustedProxies)
  const methods = new Map<string, Set<string>>()
  const route = (method: string, path: string, work: (visit: Visit) => Promise<void> | void) => {
    const known = methods.get(path) ?? new Set()
    for (const name of method === "GET" ? ["GET", "HEAD"] : [method]) known.add(name)
    methods.set(path, known)
    app.route({
      method: (method === "GET" ? ["GET", "HEAD"] : [method]) as never,
      url: path,
      handler: (request, reply) => {
        reply.hijack()
        return serve(services, visitOf(request.raw, reply.raw, trusted), work)
      },
    })
  }
  for (const operation of operations) {
    const endpoint: Endpoint = endpoints[operation]
    for (const path of [endpoint.path, `/admin${endpoint.path}`])
      route(endpoint.method, path, (visit) => runOperation(services, operation, visit))
  }
  for (const [path, page] of Object.entries(pages)) route("GET", path, (visit) => runPage(services, page, visit))

  app.setNotFoundHandler((request, reply) => {
    reply.hijack()
    const path = pathOf(request.raw.url ?? "")
    const allowed = methods.get(path)
    const failure = allowed
      ? new Failure("method_not_allowed", `${path} takes ${[...allowed].join(", ")}; got ${request.raw.method}`, {
          headers: { allow: [...allowed].join(", ") },
        })
      : new Failure("not_found", `There is no ${JSON.stringify(path.slice(0, 200))} here; /openapi.json lists what there is`)
    sendFailure(reply.raw, failure, requestId(request.raw))
  })
  return {
    async listen(addresses) {
      await app.ready()
      await listener.listen(addresses)
    },
    async [Symbol.asyncDispose]() {
      await listener.close()
      await app.close()
    },
  }
}

function visitOf(raw: IncomingMessage, response: ServerResponse, trusted: BlockList): Visit {
  return { raw, response, url: raw.url ?? "", requestId: requestId(raw), address: callerAddress(raw, trusted) }
}

function pathOf(url: string): string {
  const end = url.indexOf("?")
  return end < 0 ? url : url.slice(0, end)
}

function queryOf(url: string): string {
  const start = url.indexOf("?")
  return start < 0 ? "" : url.slice(start + 1)
}

/** A caller's own request ID, where it is a plain one; else a new one. */
function requestId(request: IncomingMessage): string {
  const given = request.headers["x-request-id"]
  return typeof given === "string" && /^[\w.-]{1,64}$/.test(given) ? given : randomBytes(9).toString("base64url")
}

async function serve(services: Services, visit: Visit, work: (visit: Visit) => Promise<void> | void): Promise<void> {
  try {
    checkHost(visit.raw, services.settings.hostNames)
    await work(visit)
  } catch (error) {
    const failure = sendFailure(visit.response, error, visit.requestId)
    if (failure.code === "internal")
      services.logger.error({ err: error, requestId: visit.requestId, url: pathOf(visit.url) }, "a request failed")
  }
}

async function runOperation(services: Services, operation: Operation, visit: Visit): Promise<void> {
  const endpoint: Endpoint = endpoints[operation]
  const { raw, response } = visit
  const session = sessionOf(raw, services.settings.secureCookies)
  const caller = endpoint.permission === "none" ? undefined : await identify(services, visit, session)
  checkOrigin(raw, { origin: services.settings.origin, bySession: caller?.proof.kind === "session" })
  const query = parseQuery(endpoint.query, queryOf(visit.url))
  const body = endpoint.body ? await readJson(raw, endpoint.maxBody ?? bodyMaxDefault) : undefined
  const headers: Record<string, string> = {}
  let status = 200
  const actor: Actor = { userName: caller?.userName ?? nobody, address: visit.address, requestId: visit.requestId }
  const context = {
    caller,
    actor,
    query,
    body,
    session,
    setStatus: (value: number) => {
      status = value
    },
    header: (name: string) => raw.headers[name] as string | undefined,
    setHeader: (name: string, value: string) => {
      headers[name] = value
    },
    get signal() {
      return signalOf(response)
    },
  } as unknown as Context
  const handler = handlers[operation] as Handler<Operation>
  const answer = await handler(services, context)
  sendJson(response, status, answer, { requestId: visit.requestId, headers })
}

async function runPage(services: Services, page: Page, visit: Visit): Promise<void> {
  const { raw, response } = visit
  const session = sessionOf(raw, services.settings.secureCookies)
  const answer = await page(services, { session, address: visit.address, query: new URLSearchParams(queryOf(visit.url)) })
  response.writeHead(answer.status, {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-request-id": visit.requestId,
    ...answer.headers,
  })
  response.end(answer.body)
}

/** Who asks. A proof known from before costs no turn of the event loop. */
async function identify({ identity }: Services, visit: Visit, session: string | undefined): Promise<Caller> {
  const authorization = soleAuthorization(visit.raw.rawHeaders)
  if (authorization instanceof Refusal) throw authorization
  const caller = identity.identifyCached(authorization, session) ?? (await identity.identify(authorization, session, visit.address))
  if (caller instanceof Refusal) throw caller
  if (onlyRun(caller) !== undefined) throw new Failure("forbidden", "This token opens a run's address and nothing else")
  return caller
}

function signalOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  response.once("close", () => controller.abort(new DOMException("The caller went away", "AbortError")))
  return controller.signal
}

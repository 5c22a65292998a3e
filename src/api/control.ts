import type { IncomingMessage } from "node:http"
import { AuthenticationFailure, type Caller, readAuthorizationHeader, scopedRunId } from "#access"
import { Failure } from "#contract"
import { type ControlUpgrade, controlPath } from "#control"
import { type AllowedHosts, assignConnection, declaresOtherOrigin, type HttpUpgrade, type TrustedProxies, tooManyConnections } from "#http"
import type { ServerState, Services } from "./context.ts"
import { loadAuthorizedRun } from "./handlers/runs/runs.ts"
import type { UpgradeHandler } from "./http/listener.ts"
import { checkRequestHead } from "./http/request-checks.ts"
import { RequestContext, stripAdminPrefix } from "./http/request-context.ts"
import { sendFailure, toFailure } from "./http/send.ts"
import { sessionOf } from "./http/session-cookie.ts"

/** How the API's servers treat requests for control connections. */
export function controlUpgrades(services: Services, context: UpgradeContext): UpgradeHandler {
  return { accepts: isControlRequest, handle: (upgrade) => void handleControlUpgrade(services, context, upgrade) }
}

/** Whether a request is for a control connection. */
function isControlRequest({ method, headers, url = "" }: IncomingMessage): boolean {
  if (method !== "GET" || headers.upgrade?.toLowerCase() !== "websocket") return false
  return stripAdminPrefix(url.replace(/\?.*$/s, "")) === controlPath
}

interface UpgradeContext {
  state: () => Pick<ServerState, "rateLimiter" | "followedOutputs" | "changes" | "reads">
  hosts: AllowedHosts
  proxies: TrustedProxies
}

/** Accepts a control connection, or refuses it like any other request. */
async function handleControlUpgrade(
  services: Services,
  { hosts, proxies, state }: UpgradeContext,
  { request, response, release, socket, head }: HttpUpgrade,
): Promise<void> {
  const context = new RequestContext(request, response, proxies)
  try {
    checkRequestHead(request, { hosts, host: context.host })
    const caller = await authenticateUpgrade(services, context)
    context.userName = caller.userName
    if (!assignConnection(socket, caller.userId)) throw tooManyConnections()
    const query = { ID: runIdOf(context.queryText) }
    const load = () => loadAuthorizedRun({ services, caller, query }, "run:control")
    const run = await (caller.isAdmin ? load() : state().reads.run(caller.userId, "controlRun", load))
    const { userName, address, requestId } = context
    if (socket.destroyed) return
    const limits = limitsOf(caller, state)
    services.control.accept({ request, socket, head, caller, actor: { userName, address, requestId }, run, release, limits })
  } catch (error) {
    refuse(services, context, error)
  }
}

/** Administrators have no limits. */
function limitsOf({ userId, isAdmin }: Caller, state: UpgradeContext["state"]): ControlUpgrade["limits"] {
  if (isAdmin) return { recordProgram: (record) => record(), readOutput: (work) => work() }
  return {
    recordProgram: async (record) => {
      state().rateLimiter.consume(userId, "writes")
      await state().changes.run(userId, record)
    },
    readOutput: async (work) => {
      state().rateLimiter.consume(userId, "streams")
      await state().followedOutputs.run(userId, work)
    },
  }
}

/** By header, or by the session of a browser whose page is of the base URL. */
async function authenticateUpgrade(services: Services, { request, address, host }: RequestContext) {
  const { identity, settings } = services
  const session = sessionOf(request, settings.secureCookies)
  const authorization = readAuthorizationHeader(request.rawHeaders)
  if (authorization instanceof AuthenticationFailure) throw authorization
  const caller = await identity.authenticate(authorization, session, address)
  if (caller instanceof AuthenticationFailure) throw caller
  const own = settings.origin === undefined ? [`http://${host.toLowerCase()}`, `https://${host.toLowerCase()}`] : [settings.origin]
  if (declaresOtherOrigin(request, own)) throw new Failure("forbidden", "A page of another origin may not control a run")
  if (caller.credential.kind === "session" && request.headers.origin === undefined) {
    throw new Failure("forbidden", "A control connection with a browser's session must carry Origin")
  }
  if (scopedRunId(caller) !== undefined) throw new Failure("forbidden", "This token opens a run's address and nothing else")
  return caller
}

function runIdOf(query: string): number {
  const given = new URLSearchParams(query).get("ID") ?? ""
  if (/^[1-9]\d{0,15}$/.test(given)) return Number(given)
  throw new Failure("invalid", `ID must be a run's number; got ${given === "" ? "none" : JSON.stringify(given.slice(0, 50))}`, {
    field: "ID",
  })
}

function refuse({ logger, events }: Services, context: RequestContext, error: unknown): void {
  const failure = toFailure(error)
  const { userName, address, requestId, response } = context
  if (failure.code === "internal") logger.error({ err: error, requestId, path: controlPath }, "a control connection failed")
  else if ([401, 403, 429].includes(failure.status))
    events.requestRefused({ userName, address, requestId }, "controlRun", { code: failure.code })
  if (!response.destroyed && !response.headersSent) sendFailure(response, failure, requestId)
}

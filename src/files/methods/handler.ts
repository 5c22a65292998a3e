import type { IncomingMessage, ServerResponse } from "node:http"
import { bounds, Failure } from "#contract"
import { assignConnection, checkTarget, TrustedProxies, tooManyConnections } from "#http"
import { handleCors } from "../cors.ts"
import { DavFailure, forbidden } from "../failures.ts"
import { findReadableIfPaths } from "../locks/lock-check.ts"
import { checkHost, checkOrigin, checkRepeatedHeaders, checkTransferEncoding } from "../request-checks.ts"
import { parseFileAddress } from "../requests/address.ts"
import { DavRequest, type FilesContext } from "../requests/dav-request.ts"
import { sendFailure } from "../responses.ts"
import { copy, move } from "./copy-move.ts"
import { deleteEntry } from "./delete.ts"
import { get } from "./get.ts"
import { lock, unlock } from "./lock.ts"
import { isReadMethod, type MethodName, methodNames } from "./method-names.ts"
import { mkcol } from "./mkcol.ts"
import { options } from "./options.ts"
import { propfind } from "./propfind.ts"
import { proppatch } from "./proppatch.ts"
import { put } from "./put.ts"

const methods: Readonly<Record<MethodName, (request: DavRequest) => Promise<void>>> = {
  OPTIONS: options,
  GET: get,
  HEAD: get,
  PUT: put,
  DELETE: deleteEntry,
  MKCOL: mkcol,
  PROPFIND: propfind,
  PROPPATCH: proppatch,
  COPY: copy,
  MOVE: move,
  LOCK: lock,
  UNLOCK: unlock,
}

export interface DavHandlerOptions {
  context: FilesContext
  /** Addresses and networks whose `X-Forwarded-For` counts. */
  trustedProxies: readonly string[]
  /** The one origin whose pages may write, such as the web UI's; none by default. */
  allowedOrigin: string | undefined
}

/**
 * Answers one request. `sendContinue` sends `100 Continue` to a client that waits for it. Never
 * rejects.
 */
export type DavHandler = (incoming: IncomingMessage, response: ServerResponse, sendContinue: () => void) => Promise<void>

export function createDavHandler(settings: DavHandlerOptions): DavHandler {
  const { context } = settings
  const proxies = new TrustedProxies(settings.trustedProxies)
  return async (incoming, response, sendContinue) => {
    const caller: Caller = { address: proxies.clientAddress(incoming), userName: undefined }
    try {
      checkHost(incoming, context.allowedHosts)
      checkTarget(incoming)
      checkRepeatedHeaders(incoming)
      checkTransferEncoding(incoming)
      if (handleCors(settings.allowedOrigin, incoming, response)) return
      const method = methodOf(incoming)
      checkOrigin(incoming, settings.allowedOrigin)
      const address = parseFileAddress(incoming.url ?? "")
      const userId = await authenticate(context, incoming, caller)
      if (!assignConnection(incoming.socket, userId)) throw tooManyConnections()
      using _slot = context.requestLimiter.acquire(userId)
      // Each name of a path is opened in the event loop.
      if (address.names.length > bounds.files.plainPathNames.value) await context.scheduler.waitForNextSlot(userId)
      const revalidate = async () => {
        await authenticate(context, incoming, caller)
        request.readableIfPaths = await findReadableIfPaths(request)
      }
      const request: DavRequest = new DavRequest({ context, incoming, response, address, userId, revalidate, sendContinue })
      const onRefused = (refusal: Failure) => recordRefusal(context, incoming, { caller, error: refusal })
      using _open = context.openRequests.add(request, onRefused)
      if (incoming.headers.if !== undefined) request.readableIfPaths = await findReadableIfPaths(request)
      await method(request)
    } catch (error) {
      recordRefusal(context, incoming, { caller, error })
      await sendFailure(response, error, { report: context.reportError, isAuthenticated: caller.userName !== undefined })
    }
  }
}

/** The caller, as far as known. */
interface Caller {
  address: string
  userName: string | undefined
}

/** Records refusals about rights for the audit. */
function recordRefusal(
  { recordRefusals }: FilesContext,
  { method }: IncomingMessage,
  { caller, error }: { caller: Caller; error: unknown },
): void {
  if (!(error instanceof Failure)) return
  const { status, code } = error
  const isHidden = error instanceof DavFailure && error.isHidden
  if (isHidden || status === 401 || status === 403 || status === 429)
    recordRefusals({ ...caller, isWrite: !isReadMethod(method), code: isHidden ? "hidden" : code, count: 1 })
}

function methodOf({ method }: IncomingMessage): (request: DavRequest) => Promise<void> {
  const name = methodNames.find((one) => one === method)
  if (name) return methods[name]
  throw new Failure("method_not_allowed", `${method ?? "This method"} is not a method of the files address`, {
    headers: { Allow: methodNames.join(", ") },
  })
}

async function authenticate(context: FilesContext, incoming: IncomingMessage, caller: Caller): Promise<number> {
  const found = await context.rights.identify(incoming.headers.authorization, caller.address)
  caller.userName = found.userName
  if (found.ok) {
    if (found.readOnly && !isReadMethod(incoming.method)) throw forbidden("This token may only read")
    return found.userId
  }
  const { status, msg, retryAfterSeconds } = found
  const headers: Record<string, string> = {}
  if (status === 401) headers["WWW-Authenticate"] = 'Basic realm="Quayside"'
  if (retryAfterSeconds !== undefined) headers["Retry-After"] = String(retryAfterSeconds)
  throw new Failure(codes[status], msg, { status, headers })
}

const codes = { 401: "unauthorized", 403: "forbidden", 429: "too_many_requests", 503: "unavailable" } as const

import type { IncomingMessage, ServerResponse } from "node:http"
import { bounds, Failure } from "#contract"
import { assignConnection, checkTarget, TrustedProxies, tooManyConnections } from "#http"
import type { BegunAs, IdentifyOptions } from "../access/authority.ts"
import { handleCors } from "../cors.ts"
import { isDownloadForm, readDownloadForm } from "../downloads/download-form.ts"
import { DavFailure, forbidden, identityFailure, invalid } from "../failures.ts"
import { slashesIn } from "../locks/if-header.ts"
import { findReadableIfPaths } from "../locks/lock-check.ts"
import { relayedAddress, relaySigner } from "../relay/relayed-address.ts"
import { checkHost, checkOrigin, checkRepeatedHeaders, checkTransferEncoding } from "../request-checks.ts"
import type { FileAddress } from "../requests/address.ts"
import { DavRequest, type FilesContext } from "../requests/dav-request.ts"
import { type FileQuery, parseFileTarget } from "../requests/query.ts"
import { sendFailure } from "../responses.ts"
import { continueUpload, createUpload, deleteUpload, describeUpload } from "../uploads/tus.ts"
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

type Method = (request: DavRequest) => Promise<void>

const methods: Readonly<Record<MethodName, Method>> = {
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
  POST: createUpload,
  PATCH: noUpload,
}

const uploadMethods: Readonly<Partial<Record<MethodName, (request: DavRequest, id: string) => Promise<void>>>> = {
  HEAD: describeUpload,
  PATCH: continueUpload,
  DELETE: deleteUpload,
}

export interface DavHandlerOptions {
  context: FilesContext
  /** Addresses and networks whose `X-Forwarded-For` counts. */
  trustedProxies: readonly string[]
  /** The one origin whose pages may write, such as the web UI's; none by default. */
  allowedOrigin: string | undefined
  /** Of the processes that pass requests on; see `SharingSettings`. */
  relayKey: string | undefined
}

/**
 * Answers one request. `sendContinue` sends `100 Continue` to a client that waits for it. Never
 * rejects.
 */
export type DavHandler = (incoming: IncomingMessage, response: ServerResponse, sendContinue: () => void) => Promise<void>

export function createDavHandler(settings: DavHandlerOptions): DavHandler {
  const { context } = settings
  const proxies = new TrustedProxies(settings.trustedProxies)
  const signer = settings.relayKey === undefined ? undefined : relaySigner(settings.relayKey)
  const addressOf = (incoming: IncomingMessage) => (signer && relayedAddress(incoming, signer)) ?? proxies.clientAddress(incoming)
  return async (incoming, response, sendContinue) => {
    const caller: Caller = { address: addressOf(incoming), userName: undefined, isWrite: !isReadMethod(incoming.method) }
    try {
      if (context.isServedElsewhere()) throw servedElsewhere()
      checkHost(incoming, context.allowedHosts)
      checkTarget(incoming)
      checkRepeatedHeaders(incoming)
      checkTransferEncoding(incoming)
      if (handleCors(settings.allowedOrigin, incoming, response)) return
      checkMethod(incoming)
      const target = parseFileTarget(incoming.url ?? "")
      const form = isDownloadForm(incoming) ? await readDownloadForm(incoming) : undefined
      if (form) caller.isWrite = false
      if (caller.isWrite) checkOrigin(incoming, settings.allowedOrigin)
      const { address, query } = form ? { address: target.address, query: form.query } : target
      const method = form ? get : methodOf(incoming, query)
      const authorization = form?.authorization ?? incoming.headers.authorization
      const { userId, userName, credentialId } = await authenticate(context, authorization, caller)
      if (!assignConnection(incoming.socket, userId)) throw tooManyConnections()
      const revalidate = async () => {
        await authenticate(context, authorization, caller, { begunAs: { userId, credentialId } })
        request.readableIfPaths = await findReadableIfPaths(request)
      }
      const request: DavRequest = new DavRequest({
        ...{ context, incoming, response, address, query, userId, userName, revalidate, sendContinue },
        isFormDownload: form !== undefined,
      })
      const onRefused = (error: unknown) => recordRefusal(context, caller, error)
      // A refusal takes as long as another answer.
      await context.turnShares.run(userId, () =>
        answer(request, method, onRefused).catch((error) => refuse(context, response, { caller, error })),
      )
    } catch (error) {
      await refuse(context, response, { caller, error })
    }
  }
}

async function answer(request: DavRequest, method: Method, onRefused: (refusal: Failure) => void): Promise<void> {
  const { address, context, incoming, userId } = request
  using _slot = context.requestLimiter.acquire(userId)
  // The event loop looks each name of a path up, unless the kernel does not know it.
  if (countNames(address, incoming) > bounds.files.plainPathNames.value) await context.scheduler.waitForNextSlot(userId)
  using _open = context.openRequests.add(request, onRefused)
  if (incoming.headers.if !== undefined) request.readableIfPaths = await findReadableIfPaths(request)
  await method(request)
}

async function refuse(
  context: FilesContext,
  response: ServerResponse,
  { caller, error }: { caller: Caller; error: unknown },
): Promise<void> {
  recordRefusal(context, caller, error)
  await sendFailure(response, error, { report: context.reportError, isAuthenticated: caller.userName !== undefined })
}

const servedElsewhere = () =>
  new Failure("unavailable", "Another process may serve the files by now; try again", { headers: { "Retry-After": "1" } })

/** The caller, as far as known. */
interface Caller {
  address: string
  userName: string | undefined
  /** Whether the request changes something. */
  isWrite: boolean
}

/** Records refusals about rights for the audit. */
function recordRefusal({ recordRefusals }: FilesContext, { address, userName, isWrite }: Caller, error: unknown): void {
  if (!(error instanceof Failure)) return
  const { status, code } = error
  const isHidden = error instanceof DavFailure && error.isHidden
  if (isHidden || status === 401 || status === 403 || status === 429)
    recordRefusals({ address, userName, isWrite, code: isHidden ? "hidden" : code, count: 1 })
}

function checkMethod({ method }: IncomingMessage): void {
  if (methodNames.some((one) => one === method)) return
  throw new Failure("method_not_allowed", `${method ?? "This method"} is not a method of the files address`, {
    headers: { Allow: methodNames.join(", ") },
  })
}

/** Names in all paths that the request may look up. */
function countNames({ names }: FileAddress, { headers }: IncomingMessage): number {
  return names.length + slashesIn(String(headers.destination ?? "")) + slashesIn(String(headers.if ?? ""))
}

/** The method for a target: a query takes few of them. */
function methodOf(incoming: IncomingMessage, query: FileQuery | undefined): Method {
  const name = incoming.method as MethodName
  if (!query) return methods[name]
  if (query.kind === "upload") {
    const method = uploadMethods[name]
    if (method) return (request) => method(request, query.id)
    throw new Failure("method_not_allowed", "An upload takes HEAD, PATCH and DELETE", { headers: { Allow: "HEAD, PATCH, DELETE" } })
  }
  if (name === "GET" || name === "HEAD") return get
  throw new Failure("method_not_allowed", `A path with ${query.kind}= takes GET and HEAD`, { headers: { Allow: "GET, HEAD" } })
}

async function noUpload(): Promise<void> {
  throw invalid("PATCH continues an upload: its address has ?upload=<id>, as the answer to POST told")
}

async function authenticate(
  context: FilesContext,
  authorization: string | undefined,
  caller: Caller,
  options: IdentifyOptions = {},
): Promise<BegunAs & { userName: string }> {
  const found = await context.rights.identify(authorization, caller.address, options)
  caller.userName = found.userName
  if (found.ok) {
    if (found.readOnly && caller.isWrite) throw forbidden("This token may only read")
    return found
  }
  throw identityFailure(found)
}

import type { IncomingMessage, ServerResponse } from "node:http"
import { Failure } from "#contract"
import { assignConnection, TrustedProxies } from "#http"
import { shareWith } from "../cors.ts"
import { DavFailure, forbidden } from "../failures.ts"
import { checkHost, checkOrigin, checkSingle, checkTransferEncoding } from "../guard.ts"
import { readableTags } from "../locks/lock-check.ts"
import { parseTarget } from "../requests/address.ts"
import { Call, type Person, type Scene } from "../requests/dav-request.ts"
import { answerFailure } from "../respond.ts"
import { copy, move } from "./copy-move.ts"
import { remove } from "./delete.ts"
import { get } from "./get.ts"
import { lock, unlock } from "./lock.ts"
import { isReading, type MethodName, methodNames } from "./method-names.ts"
import { mkcol } from "./mkcol.ts"
import { options } from "./options.ts"
import { propfind } from "./propfind.ts"
import { proppatch } from "./proppatch.ts"
import { put } from "./put.ts"

const methods: Readonly<Record<MethodName, (call: Call) => Promise<void>>> = {
  OPTIONS: options,
  GET: get,
  HEAD: get,
  PUT: put,
  DELETE: remove,
  MKCOL: mkcol,
  PROPFIND: propfind,
  PROPPATCH: proppatch,
  COPY: copy,
  MOVE: move,
  LOCK: lock,
  UNLOCK: unlock,
}

export interface HandlerOptions {
  scene: Scene
  /** Addresses and networks whose `X-Forwarded-For` counts. */
  trustedProxies: readonly string[]
  /** The one origin whose pages may write, such as the web UI's; none by default. */
  allowedOrigin: string | undefined
}

/** Answers one request; `proceed` lets a client that waits for it send its body. Never rejects. */
export type Handle = (request: IncomingMessage, response: ServerResponse, proceed: () => void) => Promise<void>

export function createHandler(settings: HandlerOptions): Handle {
  const { scene } = settings
  const proxies = new TrustedProxies(settings.trustedProxies)
  return async (request, response, proceed) => {
    const asker: Asker = { address: proxies.clientAddress(request), userName: undefined }
    try {
      checkHost(request, scene.hosts)
      checkSingle(request)
      checkTransferEncoding(request)
      if (shareWith(settings.allowedOrigin, request, response)) return
      const method = methodOf(request)
      checkOrigin(request, settings.allowedOrigin)
      const address = parseTarget(request.url ?? "")
      const person = await proven(scene, request, asker)
      if (!assignConnection(request.socket, person.userId)) throw tooManyConnections()
      using _turn = scene.turns.take(person.userId)
      const renew = async () => {
        await proven(scene, request, asker)
        call.readableTags = await readableTags(call)
      }
      const call: Call = new Call({ scene, request, response, address, person, renew, proceed })
      const cut = (refusal: Failure) => noteRefusal(scene, request, { asker, error: refusal })
      using _open = scene.open.add(call, cut)
      if (request.headers.if !== undefined) call.readableTags = await readableTags(call)
      await method(call)
    } catch (error) {
      noteRefusal(scene, request, { asker, error })
      await answerFailure(response, error, { report: scene.report, isProved: asker.userName !== undefined })
    }
  }
}

/** Who asks, as far as it is known by now. */
interface Asker {
  address: string
  userName: string | undefined
}

/** What is about rights is told to the audit. */
function noteRefusal({ refused }: Scene, { method }: IncomingMessage, { asker, error }: { asker: Asker; error: unknown }): void {
  if (!(error instanceof Failure)) return
  const { status, code } = error
  const isHidden = error instanceof DavFailure && error.isHidden
  if (isHidden || status === 401 || status === 403 || status === 429)
    refused({ ...asker, isWrite: !isReading(method), code: isHidden ? "hidden" : code, count: 1 })
}

function tooManyConnections(): Failure {
  return new Failure("too_many_requests", "All connections that one person may have are in use; close some and try again", {
    headers: { "Retry-After": "2", Connection: "close" },
  })
}

function methodOf({ method }: IncomingMessage): (call: Call) => Promise<void> {
  const name = methodNames.find((one) => one === method)
  if (name) return methods[name]
  throw new Failure("method_not_allowed", `The files address does not know ${method ?? "this method"}`, {
    headers: { Allow: methodNames.join(", ") },
  })
}

async function proven(scene: Scene, request: IncomingMessage, asker: Asker): Promise<Person> {
  const found = await scene.rights.identify(request.headers.authorization, asker.address)
  asker.userName = found.userName
  if (found.ok) {
    if (found.readOnly && !isReading(request.method)) throw forbidden("This token may only read")
    return { userId: found.userId, readOnly: found.readOnly ?? false }
  }
  const { status, msg, retryAfterSeconds } = found
  const headers: Record<string, string> = {}
  if (status === 401) headers["WWW-Authenticate"] = 'Basic realm="Quayside"'
  if (retryAfterSeconds !== undefined) headers["Retry-After"] = String(retryAfterSeconds)
  throw new Failure(codes[status], msg, { status, headers })
}

const codes = { 401: "unauthorized", 403: "forbidden", 429: "too_many_requests", 503: "unavailable" } as const

import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { once } from "node:events"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { hostname } from "node:os"
import { finished } from "node:stream/promises"
import { createClient } from "#client"
import { type Answer, Failure } from "#contract"
import { openBrowser } from "../io/browser.ts"
import type { Cli } from "../io/cli.ts"
import { CliError, exitCodes } from "../io/failures.ts"
import { createSend } from "./connection.ts"

/** Time in which the person answers in the browser. */
const answerMs = 600_000

/** The answer of the browser, and the page that still waits for its own. */
interface Reply {
  /** Undefined if the person denied it. */
  code: string | undefined
  response: ServerResponse
}

/**
 * Signs in by the person's browser (RFC 8252): the page that opens allows it, and sends a one-time
 * code to a port of this machine. Only this process knows the verifier that makes a token of it.
 */
export async function loginByBrowser(cli: Cli, baseUrl: string): Promise<Answer<"exchangeTokenCode">> {
  const verifier = randomBytes(32).toString("base64url")
  const state = randomBytes(32).toString("base64url")
  const { createServer } = await import("node:http")
  const { promise, resolve } = Promise.withResolvers<Reply>()
  const server = createServer((request, response) => receive(request, response, { state, resolve }))
  server.maxConnections = 16
  server.listen({ host: "127.0.0.1", port: 0 })
  try {
    await once(server, "listening")
    const query = new URLSearchParams({ name: programName(), challenge: digestOf(verifier), state, port: String(portOf(server)) })
    await openBrowser(cli, `${baseUrl}/ui/authorize?${query}`)
    cli.note("Waiting for your answer there. If your browser is on another machine, press Ctrl-C and use --no-browser.")
    const { code, response } = await Promise.race([promise, ended(cli.process.signal)])
    return await finish(cli, response, async () => {
      if (code === undefined) throw new CliError("You denied it in the browser.", { exitCode: exitCodes.notAllowed })
      const client = createClient({ baseUrl, fetch: createSend(cli) })
      return client.exchangeTokenCode({ body: { Code: code, CodeVerifier: verifier } })
    })
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

/** The name of the token, by which the person knows it later. */
const programName = () => `quayside on ${hostname()}`.slice(0, 200)
const digestOf = (text: string) => createHash("sha256").update(text).digest("base64url")
const portOf = (server: Server) => (server.address() as AddressInfo).port

/** Accepts the one request with the state. All others, by any page or program, change nothing. */
function receive(
  request: IncomingMessage,
  response: ServerResponse,
  { state, resolve }: { state: string; resolve: (reply: Reply) => void },
): void {
  const url = URL.parse(request.url ?? "", "http://127.0.0.1")
  const query = url?.searchParams ?? new URLSearchParams()
  const host = `127.0.0.1:${request.socket.localPort}`
  const isCallback = request.method === "GET" && url?.pathname === "/callback" && request.headers.host === host
  const code = query.get("code") ?? undefined
  const isDenied = query.get("error") === "access_denied"
  if (!isCallback) sendPage(response, 404, "There is nothing here.")
  else if (!isEqual(query.get("state") ?? "", state) || (code === undefined) !== isDenied)
    sendPage(response, 400, "This answer belongs to another sign-in. Call quayside login again.")
  else resolve({ code, response })
}

function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(createHash("sha256").update(one).digest(), createHash("sha256").update(other).digest())
}

/** Rejects when the person presses Ctrl-C, or does not answer. */
async function ended(signal: AbortSignal): Promise<never> {
  const timeout = AbortSignal.timeout(answerMs)
  const either = AbortSignal.any([signal, timeout])
  if (!either.aborted) await once(either, "abort")
  signal.throwIfAborted()
  throw new CliError("Nobody answered in the browser within 10 minutes.", { hint: "Call `quayside login` again." })
}

/** The browser's page says how it ended, before the command does. */
async function finish<T>(cli: Cli, response: ServerResponse, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work()
    await sendLastPage(response, 200, "You are signed in at the command line. You can close this tab.")
    return result
  } catch (error) {
    const text = error instanceof CliError || error instanceof Failure ? error.message : "The server could not be reached."
    if (!cli.process.signal.aborted) await sendLastPage(response, 400, `You are not signed in at the command line. ${text}`)
    throw error
  }
}

/** Resolves when the page is sent, or its browser is gone. */
async function sendLastPage(response: ServerResponse, status: number, text: string): Promise<void> {
  sendPage(response, status, text)
  await finished(response).catch(() => {})
}

/** The page runs and loads nothing. Its address had the code, which is used up by now. */
function sendPage(response: ServerResponse, status: number, text: string): void {
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    connection: "close",
  })
  response.end(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Quayside</title><p>${escaped}</p></html>\n`)
}

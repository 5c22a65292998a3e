import { bearerAuth, type Client, createClient, type Send } from "#client"
import type { Cli } from "../io/cli.ts"
import { CliError, exitCodes } from "../io/failures.ts"
import { type Context, parseServer, readContexts } from "./contexts.ts"
import { sendByHttp } from "./send-by-http.ts"

/** A server, and the person who is signed in to it. */
export interface Connection {
  readonly client: Client
  /** The base URL. */
  readonly server: string
  readonly token: string
  /** Empty if the token came from the environment. */
  readonly userName: string
}

/**
 * The server of `--context`, of `QUAYSIDE_SERVER` with `QUAYSIDE_TOKEN`, or of the current context.
 */
export async function connect(cli: Cli): Promise<Connection> {
  const { server, token, userName } = await resolveContext(cli)
  cli.process.signal.throwIfAborted()
  return { client: createClient({ baseUrl: server, authorization: bearerAuth(token), fetch: createSend(cli) }), server, token, userName }
}

/** Requests of the API name the program and end with Ctrl-C. */
export function createSend(cli: Cli): Send {
  return (url, request) => sendByHttp(url, { ...request, ...ownParts(cli, request) })
}

/** The same for files, whose contents are streams and blobs. */
export function createFetch(cli: Cli): typeof fetch {
  return (input, init = {}) => fetch(input, { ...init, ...ownParts(cli, init), redirect: "error" })
}

function ownParts({ process }: Cli, { headers, signal }: Pick<RequestInit, "headers" | "signal">) {
  return {
    headers: { "user-agent": `quayside/${process.version}`, ...(headers as Record<string, string>) },
    signal: signal ? AbortSignal.any([signal, process.signal]) : process.signal,
  }
}

export async function resolveContext({ process, options }: Cli): Promise<Context> {
  const { env } = process
  const { QUAYSIDE_SERVER: server, QUAYSIDE_TOKEN: token } = env
  if (options.context === undefined && server && token) return { server: parseServer(server), token, userName: "" }
  const { current, contexts } = await readContexts(process)
  const name = options.context ?? current
  if (name === undefined)
    throw new CliError("You are signed in to no server.", {
      exitCode: exitCodes.notAllowed,
      hint: "Sign in with `quayside login ADDRESS`, or set QUAYSIDE_SERVER and QUAYSIDE_TOKEN.",
    })
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined
  if (context) return context
  throw new CliError(`There is no context ${JSON.stringify(name)}; there are: ${Object.keys(contexts).join(", ") || "none"}.`, {
    exitCode: exitCodes.notFound,
  })
}

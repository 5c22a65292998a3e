import { bearerAuth, type Client, createClient } from "#client"
import type { Cli } from "../io/cli.ts"
import { CliError, exitCodes } from "../io/failures.ts"
import { type Context, parseServer, readContexts } from "./contexts.ts"

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
  const { server, token, userName } = await chosenContext(cli)
  cli.process.signal.throwIfAborted()
  return { client: createClient({ baseUrl: server, authorization: bearerAuth(token), fetch: fetchOf(cli) }), server, token, userName }
}

/** Requests name the program and end with Ctrl-C. */
export function fetchOf({ process }: Cli): typeof fetch {
  return (input, init = {}) =>
    fetch(input, {
      ...init,
      headers: { "user-agent": `quayside/${process.version}`, ...(init.headers as Record<string, string>) },
      signal: init.signal ? AbortSignal.any([init.signal, process.signal]) : process.signal,
      redirect: "error",
    })
}

export async function chosenContext({ process, options }: Cli): Promise<Context> {
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

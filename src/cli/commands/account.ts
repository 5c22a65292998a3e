import { bearerAuth, createClient } from "#client"
import type { Cli } from "../io/cli.ts"
import { CliError, exitCodes } from "../io/failures.ts"
import { askSecret, readSecret } from "../io/input.ts"
import { formatFields, formatTable } from "../io/table.ts"
import { connect, createFetch, resolveContext } from "../session/connection.ts"
import { type Context, contextNameFor, parseServer, readContexts, writeContexts } from "../session/contexts.ts"

interface LoginOptions {
  token?: string
  tokenStdin?: boolean
  name?: string
  browser: boolean
}

export async function login(cli: Cli, server: string | undefined, options: LoginOptions): Promise<undefined> {
  const baseUrl = server === undefined ? (await resolveContext(cli)).server : parseServer(server)
  const { token, tokenId } = await tokenFrom(cli, baseUrl, options)
  const client = createClient({ baseUrl, authorization: bearerAuth(token), fetch: createFetch(cli) })
  const { UserName: userName } = await client.whoami()
  const contexts = await readContexts(cli.process)
  const name = options.name ?? contextNameFor(baseUrl, contexts, userName)
  const context: Context = { server: baseUrl, userName, token, ...(tokenId === undefined ? {} : { tokenId }) }
  const before = Object.hasOwn(contexts.contexts, name) ? contexts.contexts[name] : undefined
  await writeContexts(cli.process, { current: name, contexts: { ...contexts.contexts, [name]: context } })
  if (before && before.token !== token) await revoke(cli, before)
  cli.show({ context: name, server: baseUrl, UserName: userName }, () => `Signed in to ${baseUrl} as ${userName} (context ${name}).`)
  return undefined
}

/** `tokenId` if this sign-in made the token: then it is this context's alone. */
async function tokenFrom(cli: Cli, baseUrl: string, options: LoginOptions): Promise<{ token: string; tokenId?: number }> {
  if (options.token !== undefined) return { token: options.token.trim() }
  if (options.tokenStdin) return { token: await readSecret(cli, "--token-stdin") }
  const page = `${baseUrl}/ui/me?tab=tokens`
  if (!cli.canAsk)
    throw new CliError("Without a terminal, `quayside login` needs --token-stdin or --token.", {
      exitCode: exitCodes.usage,
      hint: `Create a token at ${page}. Instead of signing in, QUAYSIDE_SERVER and QUAYSIDE_TOKEN may be set.`,
    })
  if (options.browser) {
    const { loginByBrowser } = await import("../session/browser-login.ts")
    const { Token, ID } = await loginByBrowser(cli, baseUrl)
    return { token: Token, tokenId: ID }
  }
  cli.note(`Open ${page}`)
  return { token: await askSecret(cli, "Create a token there, and paste it here: ") }
}

/** Revokes the token of a sign-in by the browser. False if it is another one, or that failed. */
async function revoke(cli: Cli, { server, token, tokenId }: Context): Promise<boolean> {
  if (tokenId === undefined) return false
  const client = createClient({ baseUrl: server, authorization: bearerAuth(token), fetch: createFetch(cli) })
  return client.deleteToken({ query: { ID: tokenId } }).then(
    () => true,
    () => false,
  )
}

export async function logout(cli: Cli, name: string | undefined): Promise<undefined> {
  const { current, contexts } = await readContexts(cli.process)
  const chosen = name ?? cli.options.context ?? current
  const context = chosen === undefined || !Object.hasOwn(contexts, chosen) ? undefined : contexts[chosen]
  if (chosen === undefined || !context)
    throw new CliError(chosen === undefined ? "You are signed in to no server." : `There is no context ${JSON.stringify(chosen)}.`, {
      exitCode: exitCodes.notFound,
    })
  await writeContexts(cli.process, withoutContext({ ...(current === undefined ? {} : { current }), contexts }, chosen))
  const isRevoked = await revoke(cli, context)
  cli.show({ context: chosen, isRevoked }, () => `Signed out of ${context.server}.`)
  if (isRevoked) return undefined
  cli.note(`The token still works elsewhere; revoke it at ${context.server}/ui/me?tab=tokens if nothing else uses it.`)
  return undefined
}

function withoutContext({ current, contexts }: Awaited<ReturnType<typeof readContexts>>, name: string) {
  const { [name]: _removed, ...left } = contexts
  const next = current === name ? Object.keys(left)[0] : current
  return { ...(next === undefined ? {} : { current: next }), contexts: left }
}

export async function whoami(cli: Cli): Promise<undefined> {
  const { client, server } = await connect(cli)
  const person = await client.whoami()
  cli.show({ server, ...person }, () => {
    const { Limits, Groups, ...rest } = person
    const limits = Object.entries(Limits).map(([name, value]) => `${name} ${value ?? "none"}`)
    return formatFields({ server, ...rest, Groups, Limits: limits })
  })
  return undefined
}

export async function listContexts(cli: Cli): Promise<undefined> {
  const { current, contexts } = await readContexts(cli.process)
  // Tokens are never printed.
  const rows = Object.entries(contexts).map(([name, { server, userName }]) => ({ name, server, userName, current: name === current }))
  cli.show(rows, () =>
    formatTable(rows, {
      current: (row) => (row.current ? "*" : ""),
      name: (row) => row.name,
      server: (row) => row.server,
      user: (row) => row.userName,
    }),
  )
  return undefined
}

export async function chooseContext(cli: Cli, name: string): Promise<undefined> {
  const contexts = await readContextsWith(cli, name)
  await writeContexts(cli.process, { ...contexts, current: name })
  cli.show({ context: name }, () => `${contexts.contexts[name]?.server} is used from now on.`)
  return undefined
}

export async function removeContext(cli: Cli, name: string): Promise<undefined> {
  await writeContexts(cli.process, withoutContext(await readContextsWith(cli, name), name))
  cli.show({ context: name }, () => `Context ${name} is forgotten.`)
  return undefined
}

async function readContextsWith(cli: Cli, name: string) {
  const contexts = await readContexts(cli.process)
  if (Object.hasOwn(contexts.contexts, name)) return contexts
  throw new CliError(`There is no context ${JSON.stringify(name)}; there are: ${Object.keys(contexts.contexts).join(", ") || "none"}.`, {
    exitCode: exitCodes.notFound,
  })
}

import { join } from "node:path"
import type { CliProcess } from "../io/cli.ts"
import { CliError } from "../io/failures.ts"
import { configDirectory, readPrivateFile, replaceFile } from "../io/private-files.ts"

/** A server that somebody signed in to. */
export interface Context {
  /** The base URL, without a slash at its end. */
  server: string
  userName: string
  token: string
  /** Of a token that a sign-in by the browser made. */
  tokenId?: number
}

export interface Contexts {
  current?: string
  contexts: Record<string, Context>
}

const none: Contexts = { contexts: {} }

function contextsFile(process: CliProcess): string {
  return join(configDirectory(process), "contexts.json")
}

/** Throws if other people can read the file: it holds tokens. */
export async function readContexts(process: CliProcess): Promise<Contexts> {
  const file = contextsFile(process)
  const hint = `chmod 600 '${file}'; if others can sign in to this machine, revoke its tokens as well.`
  const text = await readPrivateFile(process, file, { what: "holds tokens", hint })
  if (text === undefined) return none
  const contexts = parseContexts(text)
  if (!contexts) throw new CliError(`${file} is not a file of contexts`, { hint: "Move it away and sign in again with `quayside login`." })
  return contexts
}

export async function writeContexts(process: CliProcess, contexts: Contexts): Promise<void> {
  await replaceFile(contextsFile(process), `${JSON.stringify(contexts, null, 2)}\n`)
}

function parseContexts(text: string): Contexts | undefined {
  try {
    const { current, contexts } = JSON.parse(text) as Contexts
    const isValid = Object.values(contexts).every(
      ({ server, userName, token }) => typeof server === "string" && typeof userName === "string" && typeof token === "string",
    )
    return isValid ? { ...(typeof current === "string" ? { current } : {}), contexts } : undefined
  } catch {
    return undefined
  }
}

/** A name for a server that is not taken by another one: its host name, or that with a number. */
export function contextNameFor(server: string, { contexts }: Contexts, userName: string): string {
  const { hostname, port } = new URL(server)
  const names = [hostname, ...(port ? [`${hostname}-${port}`] : [`${hostname}-443`]), `${userName}-${hostname}-${port || 443}`]
  const same = names.find((name) => contexts[name]?.server === server && contexts[name]?.userName === userName)
  return same ?? names.find((name) => !Object.hasOwn(contexts, name)) ?? (names.at(-1) as string)
}

/** The base URL that somebody typed: `https` if they name no scheme, but for their own machine. */
export function parseServer(text: string): string {
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
  const scheme = /^(localhost|127\.|\[::1\])/.test(text) ? "http" : "https"
  const url = URL.parse(hasScheme ? text : `${scheme}://${text}`)
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === "" || url.username !== "" || url.password !== "")
    throw new CliError(`The server must be an address such as https://quayside.example.com; got ${JSON.stringify(text)}`)
  return url.origin + url.pathname.replace(/\/(ui\/?)?$/, "")
}

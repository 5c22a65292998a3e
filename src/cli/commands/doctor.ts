import type { Client } from "#client"
import type { Cli } from "../io/cli.ts"
import { describeError, exitCodes } from "../io/failures.ts"
import { formatTable } from "../io/table.ts"
import { connect, createFetch, resolveContext } from "../session/connection.ts"
import type { Context } from "../session/contexts.ts"

interface Check {
  name: string
  /** Below docs/. */
  page: string
  /** Resolves with what was found; throws if it is not well. */
  run(): Promise<string>
}

interface Finding {
  name: string
  ok: boolean
  msg: string
  page: string
}

const timeoutMs = 10_000
const maxClockSkewMs = 120_000

/** Runs every check, and says for each what was found and which page helps. */
export async function doctor(cli: Cli): Promise<number> {
  const findings: Finding[] = []
  const record = async ({ name, page, run }: Check): Promise<boolean> => {
    const finding = await Promise.race([run(), expired()]).then(
      (msg) => ({ name, ok: true, msg, page }),
      (error: unknown) => ({ name, ok: false, msg: describeError(error, undefined).msg, page }),
    )
    findings.push(finding)
    return finding.ok
  }
  let context: Context | undefined
  const signIn = {
    name: "context",
    page: "how-to/command-line.md#sign-in",
    run: async () => {
      context = await resolveContext(cli)
      return context.server
    },
  }
  // A check without sense after a failed one is left out.
  const isChosen = await record(signIn)
  if (isChosen && context && (await record(reachable(cli, context)))) {
    const { client } = await connect(cli)
    await record(serverReady(client))
    if (await record(signedIn(client))) {
      await record(filesReachable(cli, client, context))
      await record(eventsArrive(client))
    }
  }
  const isWell = findings.every(({ ok }) => ok)
  cli.show({ ok: isWell, checks: findings }, () =>
    formatTable(findings, {
      check: (each) => each.name,
      result: (each) => (each.ok ? "ok" : "failed"),
      found: (each) => each.msg,
      "see docs": (each) => (each.ok ? "" : each.page),
    }),
  )
  return isWell ? exitCodes.done : exitCodes.failed
}

function expired(): Promise<never> {
  return new Promise((_, reject) => setTimeout(() => reject(new Error(`No answer within ${timeoutMs / 1000} s`)), timeoutMs).unref())
}

function reachable(cli: Cli, { server }: Context): Check {
  return {
    name: "server",
    page: "how-to/install.md",
    run: async () => {
      const response = await createFetch(cli)(`${server}/healthz`)
      await response.text()
      const skewMs = Date.now() - Date.parse(response.headers.get("date") ?? "")
      if (!response.ok) throw new Error(`${server}/healthz answers ${response.status}`)
      if (Math.abs(skewMs) > maxClockSkewMs)
        throw new Error(`This machine's clock and the server's differ by ${Math.round(skewMs / 1000)} s`)
      return `${server} answers`
    },
  }
}

function serverReady(client: Client): Check {
  return {
    name: "readiness",
    page: "how-to/install.md",
    run: async () => {
      const { checks } = await client.readyz()
      return Object.keys(checks).join(", ")
    },
  }
}

function signedIn(client: Client): Check {
  return {
    name: "token",
    page: "how-to/people.md#create-tokens",
    run: async () => {
      const { UserName, Version } = await client.whoami()
      return `${UserName}, server ${Version}`
    },
  }
}

function filesReachable(cli: Cli, client: Client, { token }: Context): Check {
  return {
    name: "files",
    page: "how-to/install.md",
    run: async () => {
      const { FilesURL, UserName } = await client.whoami()
      const response = await createFetch(cli)(`${FilesURL}/users/${UserName}/?list=json`, { headers: { authorization: `Bearer ${token}` } })
      await response.text()
      if (!response.ok) throw new Error(`${FilesURL} answers ${response.status}`)
      return `${FilesURL} answers`
    },
  }
}

/** A proxy that collects answers before it passes them on delays events for ever. */
function eventsArrive(client: Client): Check {
  return {
    name: "events",
    page: "how-to/install.md",
    run: async () => {
      const controller = new AbortController()
      const events = await client.followEvents({ signal: controller.signal })
      await events[Symbol.asyncIterator]().next()
      controller.abort()
      return "arrive at once"
    },
  }
}

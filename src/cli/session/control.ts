import type { IncomingMessage } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import type { Multiplexer } from "#channel"
import { Failure, type FailureBody, type RunningProject } from "#contract"
import type { Cli } from "../io/cli.ts"
import { CliError, exitCodes } from "../io/failures.ts"
import { connect } from "./connection.ts"
import { findRun } from "./names.ts"

/** A run that programs can be started in, and how to connect to it. */
export interface ControlledRun {
  readonly run: RunningProject
  /** Opens a new connection. A refusal is thrown as `Failure`. */
  open(): Promise<Multiplexer>
}

export async function findControlledRun(cli: Cli, name: string): Promise<ControlledRun> {
  const { client, server, token } = await connect(cli)
  const run = await findRun(client, name)
  if (run.ControlURL === "")
    throw new CliError(`Run ${run.ID} (${run.State}) cannot be controlled: it has no container, or it is not yours.`, {
      exitCode: exitCodes.conflict,
    })
  return { run, open: () => openConnection(controlAddress(server, run.ControlURL), token) }
}

const reconnectMs = 600_000
const firstPauseMs = 500
const maxPauseMs = 10_000

/** Connects again after a loss, for ten minutes: as long as a shell waits for its client. */
export async function reconnect(cli: Cli, run: ControlledRun): Promise<Multiplexer> {
  const { signal } = cli.process
  const until = Date.now() + reconnectMs
  for (let waitMs = firstPauseMs; ; waitMs = Math.min(waitMs * 2, maxPauseMs)) {
    await sleep(waitMs, undefined, { signal })
    try {
      return await run.open()
    } catch (error) {
      if (Date.now() > until || isRefused(error)) throw error
    }
  }
}

/** The right, the token or the run has ended: waiting does not help. */
function isRefused(error: unknown): boolean {
  return error instanceof Failure && [401, 403, 404, 409].includes(error.status)
}

/** Works with a connection. Ctrl-C closes it, and with it all its streams. */
export async function withConnection<T>(
  { process: { signal } }: Cli,
  opening: Promise<Multiplexer>,
  work: (connection: Multiplexer) => Promise<T>,
): Promise<T> {
  const connection = await opening
  const close = () => connection.close(1000, "")
  signal.addEventListener("abort", close)
  try {
    signal.throwIfAborted()
    return await work(connection)
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener("abort", close)
    close()
  }
}

/** The token goes to the server that it belongs to, whatever host an answer names. */
function controlAddress(server: string, controlUrl: string): string {
  const { pathname, search } = new URL(controlUrl)
  return new URL(`${pathname}${search}`, server.replace(/^http/, "ws")).href
}

async function openConnection(address: string, token: string): Promise<Multiplexer> {
  const [{ WebSocket }, { connectControl, controlProtocols }] = await Promise.all([import("ws"), import("#channel")])
  const options = { headers: { authorization: `Bearer ${token}` }, ...(needsMask(address) ? {} : { generateMask: clear }) }
  const socket = new WebSocket(address, [...controlProtocols], options)
  const refused = new Promise<never>((_, reject) => {
    socket.on("error", (error) => reject(error))
    socket.on("unexpected-response", (_request, response: IncomingMessage) => void readUpgradeFailure(response).then(reject, reject))
  })
  return Promise.race([connectControl(socket), refused])
}

/**
 * Random masks keep proxies, which take a WebSocket's bytes for HTTP, from requests that a file's
 * author chose. No such proxy reads within TLS or one machine; there, masks only use time.
 */
export function needsMask(address: string): boolean {
  const { protocol, hostname } = new URL(address)
  return protocol !== "wss:" && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
}

/** A mask of zeros leaves the bytes as they are. */
function clear(mask: Buffer): void {
  mask.fill(0)
}

/** More than any refusal has; another server's answer may be endless. */
const maxRefusalBytes = 65_536

export async function readUpgradeFailure(response: AsyncIterable<Uint8Array> & Pick<IncomingMessage, "statusCode">): Promise<Failure> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maxRefusalBytes)
      throw new CliError(`The server answered ${response.statusCode} with a page that is no refusal of Quayside.`)
  }
  const { code, msg } = JSON.parse(Buffer.concat(chunks).toString()) as FailureBody
  return new Failure(code, msg, { status: response.statusCode ?? 500 })
}

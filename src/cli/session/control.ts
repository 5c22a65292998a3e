import type { IncomingMessage } from "node:http"
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

export async function controlRun(cli: Cli, name: string): Promise<ControlledRun> {
  const { client, server, token } = await connect(cli)
  const run = await findRun(client, name)
  if (run.ControlURL === "")
    throw new CliError(`Run ${run.ID} (${run.State}) cannot be controlled: it has no container, or it is not yours.`, {
      exitCode: exitCodes.conflict,
    })
  return { run, open: () => openConnection(controlAddress(server, run.ControlURL), token) }
}

/** The token goes to the server that it belongs to, whatever host an answer names. */
function controlAddress(server: string, controlUrl: string): string {
  const { pathname, search } = new URL(controlUrl)
  return new URL(`${pathname}${search}`, server.replace(/^http/, "ws")).href
}

async function openConnection(address: string, token: string): Promise<Multiplexer> {
  const [{ WebSocket }, { connectControl, controlProtocols }] = await Promise.all([import("ws"), import("#channel")])
  const socket = new WebSocket(address, [...controlProtocols], { headers: { authorization: `Bearer ${token}` } })
  const refused = new Promise<never>((_, reject) => {
    socket.on("error", (error) => reject(error))
    socket.on("unexpected-response", (_request, response: IncomingMessage) => void readRefusal(response).then(reject, reject))
  })
  return Promise.race([connectControl(socket), refused])
}

/** More than any refusal has; another server's answer may be endless. */
const maxRefusalBytes = 65_536

export async function readRefusal(response: AsyncIterable<Uint8Array> & Pick<IncomingMessage, "statusCode">): Promise<Failure> {
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

import type { ServerChannel } from "ssh2"
import type { Multiplexer } from "#channel"
import { connectFromRun, joinTcp } from "../session/run-tcp.ts"

interface ForwardRequest {
  accept(): ServerChannel
  reject(): void
  host: string
  port: number
}

/** `ssh -L` to a port of the run, or of another host that the run reaches. */
export async function serveForward(connection: Multiplexer, { accept, reject, host, port }: ForwardRequest): Promise<void> {
  const end = await connectFromRun(connection, { host, port }).catch(() => undefined)
  if (!end) return reject()
  const channel = accept()
  channel.on("error", () => {})
  await joinTcp(channel, end, () => channel.eof()).catch(() => {})
  channel.end()
}

import { once } from "node:events"
import type { ServerChannel } from "ssh2"
import type { Multiplexer } from "#channel"
import { connectFromRun, type RunTcp } from "../session/run-tcp.ts"

export interface ForwardRequest {
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
  const closed = once(channel, "close")
  channel.on("error", () => {})
  void closed.then(() => end.cancel())
  await Promise.all([sendAll(channel, end), receiveAll(channel, end, closed)]).catch(() => {})
  channel.end()
}

async function sendAll(channel: ServerChannel, end: RunTcp): Promise<void> {
  for await (const chunk of channel.iterator({ destroyOnReturn: false })) await end.write(chunk as Buffer)
  end.end()
}

async function receiveAll(channel: ServerChannel, end: RunTcp, closed: Promise<unknown>): Promise<void> {
  for await (const data of end.data) if (!channel.write(data)) await Promise.race([once(channel, "drain"), closed])
  channel.eof()
}

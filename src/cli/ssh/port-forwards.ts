import type { Connection, ServerChannel } from "ssh2"
import { type Multiplexer, openListen, type StreamError } from "#channel"
import { connectFromRun, relayTcp, toRunConnection } from "../session/run-connection.ts"

interface ForwardRequest {
  accept(): ServerChannel
  reject(): void
  host: string
  port: number
}

/** `ssh -L` to a port of the run, or of another host that the run reaches. */
export async function serveLocalForward(connection: Multiplexer, { accept, reject, host, port }: ForwardRequest): Promise<void> {
  const end = await connectFromRun(connection, { host, port }).catch(() => undefined)
  if (!end) return reject()
  const channel = accept()
  channel.on("error", () => {})
  await relayTcp(channel, end, () => channel.eof()).catch(() => {})
  channel.end()
}

/**
 * `ssh -R`: ports of the run's loopback address lead to the machine of `ssh`. Gives a function that
 * waits until all requests for ports so far are answered.
 */
export function serveRemoteForwards(connection: Multiplexer, client: Connection): () => Promise<unknown> {
  const listening = new Map<number, () => void>()
  const pending = new Set<Promise<void>>()
  client.on("request", (accept, reject, name, info) => {
    if (name === "tcpip-forward") {
      const { bindAddr, bindPort } = info as { bindAddr: string; bindPort: number }
      const stream = openListen(connection, bindPort, (each) => {
        const { port } = opened
        client.forwardOut(bindAddr, port, "127.0.0.1", 0, (error, channel) => {
          if (error) return each.fail("connection_refused", error.message)
          each.accept()
          channel.on("error", () => {})
          void relayTcp(channel, toRunConnection(each), () => channel.end()).catch(() => channel.end())
        })
      })
      const opened = { port: bindPort }
      const answered = stream.accepted.then(
        ({ port }) => {
          opened.port = port as number
          listening.set(opened.port, () => stream.fail("cancelled", "No longer forwarded"))
          accept?.(opened.port)
        },
        (_error: StreamError) => reject?.(),
      )
      pending.add(answered)
      void answered.finally(() => pending.delete(answered))
    } else if (name === "cancel-tcpip-forward") {
      const { bindPort } = info as { bindPort: number }
      listening.get(bindPort)?.()
      listening.delete(bindPort)
      accept?.()
    } else reject?.()
  })
  return () => Promise.all(pending)
}

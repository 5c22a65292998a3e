import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"

/**
 * Forwards requests to a port of this machine, each from another loopback address, because many
 * wrong passwords from one address are slowed down. For clients without pipelining.
 */
export async function openManyAddressProxy(port: number): Promise<AsyncDisposable & { port: number }> {
  let count = 0
  const nextAddress = () => {
    count += 1
    return `127.1.${(count >> 8) & 255}.${count & 255}`
  }
  const open = new Set<Socket>()
  const server = createServer((client) => {
    let upstream: Socket | undefined
    let isAnswered = true
    const turn = () => {
      upstream?.removeAllListeners("close").destroy()
      const next = connect({ host: "127.0.0.1", port, localAddress: nextAddress() })
      next.on("data", (chunk: Buffer) => {
        isAnswered = true
        client.write(chunk)
      })
      next.on("error", () => client.destroy())
      next.on("close", () => client.end())
      upstream = next
    }
    client.on("data", (chunk: Buffer) => {
      // Data after a response begins the next request.
      if (isAnswered) turn()
      isAnswered = false
      upstream?.write(chunk)
    })
    client.on("error", () => {})
    client.on("close", () => {
      open.delete(client)
      upstream?.destroy()
    })
    open.add(client)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, "close")
    },
  }
}

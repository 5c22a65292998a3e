import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"

/**
 * Passes requests on to a port of this machine, each from another loopback address: a caller who
 * tries many wrong passwords would be slowed down. For clients that send one request after the
 * other on a connection.
 */
export async function fromManyAddresses(port: number): Promise<AsyncDisposable & { port: number }> {
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
      // What comes after an answer is another request.
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

import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { test } from "node:test"
import { promisify } from "node:util"
import { assignConnection, ConnectionLimiter, connectionLimits, markConnectionInUse, TrustedProxies } from "#http"
import { eventually } from "../../../test/fixtures/eventually.ts"

const few = { maxAnonymous: 6, maxPerAddress: 4, maxAuthenticated: 6, maxPerPerson: 4, proxies: new TrustedProxies([]) }

/**
 * A server that proves whoever says a name, as that name, and answers `yes` or `no`; what begins
 * with `hold` is in use from then on.
 */
async function naming(options = few) {
  const server = createServer((socket) => {
    socket
      .on("error", () => {})
      .on("data", (name) => {
        socket.write(assignConnection(socket, `${name}`.replace("hold ", "")) ? "yes" : "no")
        if (`${name}`.startsWith("hold ")) markConnectionInUse(socket)
      })
  })
  new ConnectionLimiter(options).watch(server)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const sockets: Socket[] = []
  return {
    async join(from: string, name?: string): Promise<{ socket: Socket; answer: string }> {
      const socket = connect({ host: "127.0.0.1", port: (server.address() as AddressInfo).port, localAddress: from })
      sockets.push(socket.on("error", () => {}))
      await once(socket, "connect")
      if (name === undefined) return { socket: socket.resume(), answer: "" }
      socket.write(name)
      const [answer] = await once(socket, "data")
      return { socket: socket.resume(), answer: `${answer}` }
    },
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

test("an address loses its oldest connection beyond its own limit, and beyond the total limit if it has most", async () => {
  using server = await naming()
  const crowd = [
    await server.join("127.0.0.2"),
    await server.join("127.0.0.2"),
    await server.join("127.0.0.2"),
    await server.join("127.0.0.2"),
  ]
  const fifth = once(crowd[0]?.socket as Socket, "close")
  await server.join("127.0.0.2")
  await fifth
  const other = [await server.join("127.0.0.3"), await server.join("127.0.0.3")]
  const seventh = once(crowd[1]?.socket as Socket, "close")
  const third = await server.join("127.0.0.4")
  await seventh
  assert.deepEqual(
    [...other, third].map(({ socket }) => socket.destroyed),
    [false, false, false],
  )
})

test("a person over their limit loses idle connections, and the person with most loses used ones to others", async () => {
  using server = await naming()
  const idle = await server.join("127.0.0.1", "ann")
  for (let i = 0; i < 3; i += 1) assert.equal((await server.join("127.0.0.1", "hold ann")).answer, "yes")
  const closed = once(idle.socket, "close")
  const held = await server.join("127.0.0.1", "hold ann")
  await closed
  assert.equal((await server.join("127.0.0.1", "ann")).answer, "no")
  const others = [
    await server.join("127.0.0.1", "hold bob"),
    await server.join("127.0.0.1", "hold bob"),
    await server.join("127.0.0.1", "hold carl"),
  ]
  assert.deepEqual(
    others.map(({ answer }) => answer),
    ["yes", "yes", "yes"],
  )
  assert.equal(held.socket.destroyed, false, "the oldest went, not the newest")
  await eventually("bob has his connections", () => others.every(({ socket }) => !socket.destroyed))
})

test("connection limits reserve descriptors and count two for each authenticated connection", () => {
  const shares = (descriptors: number) => connectionLimits({ max: 20_000, maxPerAddress: 100, maxPerPerson: 200 }, descriptors)
  for (const descriptors of [1_024, 20_000, 1_048_576]) {
    const { maxAnonymous, maxAuthenticated } = shares(descriptors)
    assert.ok(maxAnonymous + 2 * maxAuthenticated <= descriptors - Math.min(2_048, descriptors / 4), String(descriptors))
  }
  assert.deepEqual(shares(1_048_576), { maxAnonymous: 5_000, maxAuthenticated: 15_000, maxPerAddress: 100, maxPerPerson: 200 })
})

const outOfDescriptors = `
import { connect, createServer } from "node:net"
import { ConnectionLimiter, TrustedProxies } from "#http"
const many = { maxAnonymous: 9999, maxPerAddress: 9999, maxAuthenticated: 9999, maxPerPerson: 9999, proxies: new TrustedProxies([]) }
const server = createServer((socket) => socket.on("error", () => {}).end("served"))
new ConnectionLimiter(many).watch(server)
server.listen(0, "127.0.0.1", async () => {
  const { port } = server.address()
  const crowd = []
  for (let i = 0; i < 200; i += 1) crowd.push(connect({ host: "127.0.0.1", port }).on("error", () => {}).pause())
  await new Promise((resolve) => setTimeout(resolve, 300))
  const before = process.cpuUsage()
  await new Promise((resolve) => setTimeout(resolve, 500))
  const { user, system } = process.cpuUsage(before)
  for (const socket of crowd) socket.destroy()
  await new Promise((resolve) => setTimeout(resolve, 100))
  connect({ host: "127.0.0.1", port }).on("error", (error) => console.log(String(error))).on("data", (text) => {
    console.log(text + " " + (user + system < 400_000 ? "calmly" : "after spinning"))
    process.exit()
  })
})`

test("a server without free descriptors neither exits nor spins, and serves again later", async () => {
  const program = [process.execPath, "--input-type=module", "-e", outOfDescriptors]
  const { stdout } = await promisify(execFile)("/bin/sh", ["-c", 'ulimit -n 96 && exec "$0" "$@"', ...program], {
    cwd: import.meta.dirname,
    timeout: 60_000,
  })
  assert.equal(stdout, "served calmly\n")
})

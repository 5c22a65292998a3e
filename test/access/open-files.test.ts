import assert from "node:assert/strict"
import { chownSync, existsSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { after, test } from "node:test"
import { basicAuth, bearerAuth } from "#client"
import { sendRequest } from "../api/http-client.ts"
import { eventually } from "../fixtures/eventually.ts"
import { withSoonExpiring } from "../fixtures/expiry.ts"
import { unfinishedIn } from "../fixtures/files/unfinished.ts"
import { adminPassword, type Person, startTestServer } from "../test-server.ts"

/*
 * Downloads and uploads that are under way when the right to them ends. The server ends them within
 * 10 s here; the promise is five.
 */

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { filesUrl } = server.quayside
const size = 40_000_000
const ann = await server.person("ann")
const shared = await ann.client.createData({ body: { Name: "shared", AccessInfo: "/users/ann/shared" } })
assert.equal(
  (await sendRequest(filesUrl, "PUT", "/users/ann/shared/large", { as: ann.authorization, body: Buffer.alloc(size) })).status,
  201,
)

const grant = (person: Person, more: object = {}) =>
  ann.client.createGrant({ body: { DataID: shared.ID, UserName: person.userName, Access: "write", ...more } })

/** A request that stops after its first megabyte until the test continues it. */
class Slow {
  readonly #socket: Socket
  received = 0
  head = ""
  closed = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on("error", () => {})
    socket.on("close", () => {
      this.closed = true
    })
    socket.on("data", (bytes: Buffer) => {
      this.head ||= bytes.toString("latin1", 0, 40)
      this.received += bytes.length
    })
  }

  static send(text: string, authorization: string): Slow {
    const { port } = new URL(filesUrl)
    const socket = connect({ host: "127.0.0.1", port: Number(port) })
    const slow = new Slow(socket)
    const [line = "", ...fields] = text.split("\n")
    socket.write([`${line} HTTP/1.1`, "Host: localhost", `Authorization: ${authorization}`, ...fields, "", ""].join("\r\n"))
    return slow
  }

  /** Stops reading. */
  hold(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes)
  }

  end(): void {
    this.#socket.destroy()
  }
}

async function download(authorization: string): Promise<Slow> {
  const slow = Slow.send("GET /users/ann/shared/large", authorization)
  await eventually("the download began", () => slow.received > 0)
  slow.hold()
  assert.match(slow.head, /^HTTP\/1.1 200 /)
  return slow
}

async function upload(authorization: string, name: string): Promise<Slow> {
  const slow = Slow.send(`PUT /users/ann/shared/${name}\nContent-Length: ${size}\nExpect: 100-continue`, authorization)
  await eventually("the upload began", () => slow.head.startsWith("HTTP/1.1 100 "))
  slow.write(Buffer.alloc(1_000_000))
  return slow
}

test("losing the right to a file ends that person's download, and nobody else's", async () => {
  const people = await Promise.all(["gus", "tom", "dan", "eve", "fay", "rob"].map((name) => server.person(name)))
  await server.acquaint(ann, ...people)
  const [gus, tom, dan, eve, fay, rob] = people
  assert.ok(gus && tom && dan && eve && fay && rob)
  const granted = await grant(gus)
  for (const person of [tom, dan, fay, rob]) await grant(person)
  const token = await tom.client.createToken({ body: { Name: "slow" } })
  const losers = { gus: gus.authorization, tom: bearerAuth(token.Token), dan: dan.authorization }
  const [stays, stayed] = [await download(fay.authorization), await upload(fay.authorization, "fay")]
  const both = async (name: string, authorization: string): Promise<[string, Slow][]> => [
    [`${name} reads`, await download(authorization)],
    [`${name} writes`, await upload(authorization, name)],
  ]
  const open: [string, Slow][] = []
  for (const [name, authorization] of Object.entries(losers)) open.push(...(await both(name, authorization)))
  const until = async (Until: string) => {
    await grant(eve, { Until })
    return both("eve", eve.authorization)
  }
  open.push(...(await withSoonExpiring(until, 2_000)))
  open.push(["rob writes", await upload(rob.authorization, "rob")])
  const robsDownload = await download(rob.authorization)
  await grant(rob, { Access: "read" })
  await ann.client.deleteGrant({ query: { ID: granted.ID } })
  await tom.client.deleteToken({ query: { ID: token.ID } })
  const { data } = await server.admin.listUsers({ query: { UserName: "dan" } })
  await server.admin.updateUser({ body: { ID: data[0]?.ID ?? 0, IsDisabled: true } })
  await eventually("the uploads are cut off", () => open.every(([what, { closed }]) => closed || what.endsWith("reads")))
  for (const [, slow] of open) slow.resume()
  await eventually("all are cut off", () => open.every(([, { closed }]) => closed))
  for (const [what, { received }] of open) if (what.endsWith("reads")) assert.ok(received < size, what)
  stays.resume()
  await eventually("who may read gets all of it", () => stays.received > size)
  robsDownload.resume()
  await eventually("reading needs no right to write", () => robsDownload.received > size)
  stayed.write(Buffer.alloc(size - 1_000_000))
  await eventually(
    "who may write is done",
    async () => (await sendRequest(filesUrl, "HEAD", "/users/ann/shared/fay", { as: ann.authorization })).status === 200,
  )
  for (const name of [...Object.keys(losers), "eve", "rob"])
    assert.equal((await sendRequest(filesUrl, "HEAD", `/users/ann/shared/${name}`, { as: ann.authorization })).status, 404)
  for (const slow of [stays, stayed, robsDownload]) slow.end()
})

test("wrong passwords keep nobody's download or upload going", async () => {
  const ian = await server.person("ian")
  await server.acquaint(ann, ian)
  const granted = await grant(ian)
  const byPassword = basicAuth("ian", ian.password)
  const open = [await download(byPassword), await upload(byPassword, "ian")] as const
  const guess = () => sendRequest(filesUrl, "HEAD", "/users/ann/shared/large", { as: basicAuth("ian", "a wrong password") })
  await eventually("his password is not checked any more", async () => (await guess()).status === 429)
  await ann.client.deleteGrant({ query: { ID: granted.ID } })
  await eventually("the upload is cut off", () => open[1].closed)
  open[0].resume()
  await eventually("so is the download", () => open[0].closed)
  assert.ok(open[0].received < size)
})

/** Directories of files that are long holes: they need no space, and copying them takes long. */
async function makeHoles(directory: string): Promise<void> {
  await sendRequest(filesUrl, "MKCOL", directory, { as: basicAuth("admin", adminPassword) })
  const path = join(server.dataDir, "files", directory)
  const { uid, gid } = statSync(path)
  for (let n = 0; n < 4_000; n += 1) {
    const file = join(path, String(n))
    writeFileSync(file, "")
    truncateSync(file, 15_000_000)
    chownSync(file, uid, gid)
  }
}

/** The copies and uploads under way. */
function staged(): string[] {
  return unfinishedIn(join(server.dataDir, "files"))
}

test("losing the right to the source or to the target of a copy ends it, and nothing of it remains", async () => {
  const [gil, dot, flo] = await Promise.all(["gil", "dot", "flo"].map((name) => server.person(name)))
  assert.ok(gil && dot && flo)
  const source = await server.admin.createData({ body: { Name: "source", AccessInfo: "/source" } })
  const target = await server.admin.createData({ body: { Name: "target", AccessInfo: "/target" } })
  await Promise.all(["/source", "/users/flo/source"].map(makeHoles))
  const grantOn = ({ ID }: { ID: number }, { userName }: Person, Access: "read" | "write") =>
    server.admin.createGrant({ body: { DataID: ID, UserName: userName, Access } })
  const toGil = await grantOn(source, gil, "read")
  await grantOn(source, dot, "read")
  await grantOn(target, flo, "write")
  const copyAs = ({ authorization }: Person, from: string, to: string) => Slow.send(`COPY ${from}\nDestination: ${to}`, authorization)
  const copies = [
    copyAs(gil, "/source", "/users/gil/copy"),
    copyAs(dot, "/source", "/users/dot/copy"),
    copyAs(flo, "/users/flo/source", "/target/copy"),
  ]
  const stays = copyAs(flo, "/users/flo/source", "/users/flo/copy")
  await eventually("the copies are under way", () => staged().length === 4)
  await server.admin.deleteGrant({ query: { ID: toGil.ID } })
  const { data } = await server.admin.listUsers({ query: { UserName: "dot" } })
  await server.admin.updateUser({ body: { ID: data[0]?.ID ?? 0, IsDisabled: true } })
  await grantOn(target, flo, "read")
  await eventually("they are cut off", () => copies.every(({ closed }) => closed))
  for (const { head } of copies) assert.equal(head, "", "none was answered")
  await eventually("their files are removed", () => staged().length === 1)
  assert.equal(stays.closed, false)
  stays.end()
  await eventually("so are those of the other one, when its client leaves", () => staged().length === 0)
  for (const path of ["users/gil", "users/dot", "users/flo", "target"])
    assert.equal(existsSync(join(server.dataDir, "files", path, "copy")), false, path)
})

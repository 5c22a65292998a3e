import assert from "node:assert/strict"
import { chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { test } from "node:test"
import { setImmediate as nextLoop } from "node:timers/promises"
import { bounds } from "#contract"
import { FairScheduler, sharedScheduler, Yielder } from "#kit"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { asRoot, basic, owner, TestFilesServer, workerPid } from "../../../test/fixtures/files/files-server.ts"
import { RightsCache } from "../access/rights-cache.ts"
import { TreeDirectory } from "../tree/tree-directory.ts"
import { parseXml, serializeXml, type XmlElement } from "../xml/xml.ts"
import { CopyQueue } from "./request-limiter.ts"

/*
 * A short request must not become a long answer, much memory, or anybody else's wait.
 */

const { entryProperties, listingBytes, listingBytesPerEntry, propertyNames } = bounds.files
const names = (count: number, prefix: string) => Array.from({ length: count }, (_, i) => `<${prefix}:p${i}/>`).join("")
const propfind = (count: number, ns: string) =>
  `<D:propfind xmlns:D="DAV:" xmlns:x="${ns}"><D:prop>${names(count, "x")}</D:prop></D:propfind>`
const proppatch = (count: number, ns: string) =>
  `<D:propertyupdate xmlns:D="DAV:" xmlns:x="${ns}"><D:set><D:prop>${names(count, "x")}</D:prop></D:set></D:propertyupdate>`
const lockinfo = (content: string, ns: string, scope = "exclusive") =>
  `<D:lockinfo xmlns:D="DAV:" xmlns:x="${ns}"><D:lockscope><D:${scope}/></D:lockscope>` +
  `<D:locktype><D:write/></D:locktype><D:owner>${content}</D:owner></D:lockinfo>`
const short = "urn:x"
const long = "n".repeat(20_000)

test("a body with thousands of names, or a name or namespace of thousands of characters, is refused", async () => {
  await using server = await TestFilesServer.start()
  await server.ask("PUT", "/users/ann/f", { body: "x" })
  const status = async (method: string, body: string) => (await server.ask(method, "/users/ann/f", { body })).status
  for (const [method, body] of [
    ["PROPFIND", propfind(1_000, long)],
    ["PROPFIND", propfind(1_000, short)],
    ["PROPFIND", propfind(1, long)],
    ["PROPFIND", propfind(propertyNames.value + 1, short)],
    ["PROPFIND", `<D:propfind xmlns:D="DAV:"><D:prop><${"p".repeat(256)} xmlns="urn:x"/></D:prop></D:propfind>`],
    ["PROPFIND", `<propfind xmlns="DAV:"><prop>${names(50, "x").replaceAll("p", "p".repeat(200))}</prop></propfind>`],
    ["PROPFIND", `<propfind xmlns="DAV:" ${Array.from({ length: 65 }, (_, i) => `a${i}=""`).join(" ")}><allprop/></propfind>`],
    ["PROPFIND", `<propfind xmlns="DAV:"><allprop/>${"<a/>".repeat(3_000)}</propfind>`],
    ["PROPPATCH", proppatch(1_000, long)],
    ["PROPPATCH", proppatch(propertyNames.value + 1, short)],
    ["LOCK", lockinfo(names(1_000, "x"), long)],
  ] as const)
    assert.equal(await status(method, body), 400, `${method} ${body.slice(0, 80)}`)
  assert.equal(await status("PROPFIND", propfind(propertyNames.value, short)), 207)
  assert.equal(await status("PROPPATCH", proppatch(propertyNames.value, short)), 207)
  assert.equal(await status("LOCK", lockinfo(names(200, "x"), short)), 200)
})

test("a name that a PROPFIND repeats is returned once", async () => {
  await using server = await TestFilesServer.start()
  const body = `<propfind xmlns="DAV:"><prop>${'<c xmlns="urn:x"/>'.repeat(300)}${"<getetag/>".repeat(300)}</prop></propfind>`
  const { status, text } = await server.ask("PROPFIND", "/users/ann/", { body, headers: { depth: "0" } })
  assert.equal(status, 207)
  assert.equal(text.split("<n0:c/>").length, 2)
})

test("serialized XML grows no faster than its body, whatever its namespaces", () => {
  const ns = "u".repeat(1_000)
  const other = "v".repeat(1_000)
  const worst: Record<string, string> = {
    "many elements in one namespace": `<a xmlns="${ns}">${"<b/>".repeat(2_000)}</a>`,
    "attributes in a namespace": `<a xmlns:x="${ns}">${'<b x:c=""/>'.repeat(2_000)}</a>`,
    "two namespaces in turn": `<a xmlns="${ns}" xmlns:y="${other}">${"<b><y:c/></b>".repeat(900)}</a>`,
    "a namespace at each level": `<a xmlns="${ns}" xmlns:y="${other}">${"<y:b><c>".repeat(15)}${"</c></y:b>".repeat(15)}</a>`,
    "characters that are written longer": `<a>${'"&gt;'.repeat(8_000)}</a>`,
  }
  for (const [what, body] of Object.entries(worst)) {
    const element = parseXml(Buffer.from(body))
    const text = serializeXml(element)
    assert.ok(text.length <= 7 * body.length, `${what}: ${body.length} became ${text.length}`)
    const repeated = parseXml(Buffer.from(text.replace(/^<[^\s/>]+/, '$& xmlns:D="DAV:"')))
    assert.deepEqual(plain(repeated), plain(element), what)
  }
})

/** Each of `count` properties uses all namespaces that the element around them declares. */
function usingAll(count: number): string {
  const prefixes = Array.from({ length: 30 }, (_, i) => `n${i}`)
  const declared = prefixes.map((prefix, i) => ` xmlns:${prefix}='${'"'.repeat(1_000)}${i}'`).join("")
  const used = prefixes.map((prefix) => ` ${prefix}:a=''`).join("")
  const properties = Array.from({ length: count }, (_, i) => `<p${i}${used}/>`).join("")
  return `<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop${declared}>${properties}</D:prop></D:set></D:propertyupdate>`
}

test("a short PROPPATCH stores at most the properties that one entry may have", async () => {
  await using server = await TestFilesServer.start()
  await server.ask("PUT", "/users/ann/f", { body: "x" })
  const patch = async (body: string) => (await server.ask("PROPPATCH", "/users/ann/f", { body })).status
  assert.equal(await patch(usingAll(35)), 507)
  assert.equal(await patch(usingAll(35).replaceAll('"'.repeat(1_000), "urn:")), 207)
})

test("one entry's share of a response is bounded, and that of the next entries as well", async () => {
  await using server = await TestFilesServer.start()
  const value = "v".repeat(50_000)
  const patch = async (name: string, i: number, step = "set") => {
    const body = `<propertyupdate xmlns="DAV:"><${step}><prop><p${i} xmlns="urn:x">${value}</p${i}></prop></${step}></propertyupdate>`
    return (await server.ask("PROPPATCH", `/users/ann/${name}`, { body })).status
  }
  for (const name of ["f", "g"]) {
    await server.ask("PUT", `/users/ann/${name}`, { body: "x" })
    assert.deepEqual([await patch(name, 1), await patch(name, 2), await patch(name, 3)], [207, 207, 507])
  }
  assert.equal(await patch("f", 2), 207, "one in the place of another")
  const { text } = await server.ask("PROPFIND", "/users/ann/f", { headers: { depth: "0" } })
  assert.ok(text.includes(value) && text.length < 2 * entryProperties.value, `${text.length} characters`)
  assert.equal(await patch("f", 1, "remove"), 207)
  assert.equal(await patch("f", 3), 207)
})

/** Texts that lie side by side are one. */
function plain({ ns, name, attributes, children }: XmlElement): unknown {
  const joined: unknown[] = []
  for (const each of children) {
    if (typeof each !== "string") joined.push(plain(each))
    else if (typeof joined.at(-1) === "string") joined.push(`${joined.pop()}${each}`)
    else joined.push(each)
  }
  return { ns, name, attributes, children: joined }
}

/** Resident memory of the worker, in MiB. */
function workerMemory(): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${workerPid()}/status`, "utf8"))?.[1]) / 1024
}

/** How many bytes come until the end, and whether there is one. */
function weigh(server: TestFilesServer, body: string, depth = "1"): Promise<{ status: number; bytes: number; isWhole: boolean }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: basic("ann"), depth }
    const sent = request(
      { host: "127.0.0.1", port: server.port, method: "PROPFIND", path: "/users/ann/many/", headers, agent: false },
      (answer) => {
        let bytes = 0
        const end = (isWhole: boolean) => () => resolve({ status: answer.statusCode ?? 0, bytes, isWhole })
        answer.on("data", (chunk: Buffer) => {
          bytes += chunk.length
        })
        answer.on("end", end(true)).on("error", end(false))
      },
    )
    sent.on("error", reject).end(body)
  })
}

function makeMany(server: TestFilesServer, count: number): void {
  server.makeDirectory("users/ann/many")
  for (let i = 0; i < count; i += 1) {
    writeFileSync(server.at("many", String(i)), "")
    if (asRoot) chownSync(server.at("many", String(i)), owner.uid, owner.gid)
  }
}

test("a listing of 10,000 entries with all names that a request may have is bounded, and the worker's memory flat", async () => {
  await using server = await TestFilesServer.start({ runIn: "worker" })
  makeMany(server, 10_000)
  await server.ask("PUT", "/users/bob/small", { user: "bob", body: "x" })
  const before = workerMemory()
  const body = propfind(propertyNames.value, "n".repeat(1_000)).replaceAll("<x:p", `<x:${"p".repeat(26)}`)
  const attacks = Array.from({ length: 8 }, () => weigh(server, body))
  let isOver = false
  const over = Promise.all(attacks).finally(() => {
    isOver = true
  })
  let reads = 0
  let most = 0
  while (!isOver) {
    assert.equal((await server.ask("GET", "/users/bob/small", { user: "bob" })).text, "x")
    most = Math.max(most, workerMemory())
    reads += 1
  }
  for (const { status, bytes, isWhole } of await over) {
    assert.equal(status, 207)
    assert.equal(isWhole, false)
    assert.ok(bytes <= listingBytes.value + 10_000 * listingBytesPerEntry.value, `${bytes} bytes`)
  }
  assert.ok(most - before < 150, `${before} MiB became ${most}`)
  assert.ok(reads > 10, `only ${reads} others were served meanwhile`)
})

test("a deep listing that would be too large is refused before its first byte", async () => {
  await using server = await TestFilesServer.start()
  makeMany(server, 3_000)
  const body = propfind(propertyNames.value, short).replaceAll("<x:p", `<x:${"p".repeat(26)}`)
  const { status, headers, text } = await server.ask("PROPFIND", "/users/ann/", { body, headers: { depth: "infinity" } })
  assert.equal(status, 403)
  assert.equal(headers["content-type"], "application/xml; charset=utf-8")
  assert.match(text, /propfind-finite-depth/)
  assert.equal((await weigh(server, "", "infinity")).isWhole, true)
})

test("locks on a directory are not repeated in full for each of its entries", async () => {
  await using server = await TestFilesServer.start()
  makeMany(server, 500)
  const body = lockinfo("o".repeat(4_000), short, "shared")
  for (let i = 0; i < bounds.files.sharedLocks.value; i += 1)
    assert.equal((await server.ask("LOCK", "/users/ann/many/", { body })).status, 200)
  assert.equal((await server.ask("LOCK", "/users/ann/many/", { body })).status, 429)
  const { bytes, isWhole } = await weigh(server, "")
  assert.ok(bytes <= listingBytes.value + 501 * listingBytesPerEntry.value)
  assert.ok(isWhole, "500 entries with 64 locks each")
})

test("a client that reads nothing of a listing is disconnected", async () => {
  await using server = await TestFilesServer.start({ limits: { stallMs: 500 } })
  makeMany(server, 10_000)
  const stalled = await server.raw()
  stalled.socket.pause()
  // More than what the kernel takes on the way.
  const body = propfind(200, short)
  const headers = ["Host: localhost", `Authorization: ${basic("ann")}`, "Depth: 1", `Content-Length: ${body.length}`]
  stalled.write(`PROPFIND /users/ann/many/ HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n${body}`)
  await eventually("the server has no connection left", () => openConnections(server.port) === 0, 60_000)
  stalled.socket.destroy()
})

function openConnections(port: number): number {
  const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`
  const lines = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1)
  return lines.filter((line) => {
    const [, local = "", , state] = line.trim().split(/\s+/)
    return local.endsWith(end) && state === "01"
  }).length
}

test("long work yields to other people, one slice in each turn of the event loop", async () => {
  const slices = new FairScheduler()
  const order: number[] = []
  const turns: Promise<void>[] = []
  for (let i = 0; i < 50; i += 1) turns.push(slices.waitForNextSlot(1).then(() => void order.push(1)))
  turns.push(slices.waitForNextSlot(2).then(() => void order.push(2)))
  await Promise.all(turns)
  assert.ok(order.indexOf(2) <= 1, order.join())
  await nextLoop()
  assert.equal(slices.waitForSlot(1), undefined)
  assert.ok(slices.waitForSlot(1) instanceof Promise, "one in a turn")
})

test("a slice of long work is short: each turn of the event loop accepts one connection", async () => {
  const yielder = new Yielder(new FairScheduler(), 1)
  let shortest = Number.POSITIVE_INFINITY
  for (let slice = 0; slice < 20; slice += 1) {
    const began = performance.now()
    let pause = yielder.pause()
    while (!pause) pause = yielder.pause()
    shortest = Math.min(shortest, performance.now() - began)
    await pause
  }
  assert.ok(shortest < 3, `${shortest} ms`)
})

test("requests with long paths begin one in each turn of the event loop, others at once", async (t) => {
  await using server = await TestFilesServer.start()
  const waits = t.mock.method(sharedScheduler, "waitForNextSlot").mock
  const get = (count: number) => server.ask("GET", `/${["users", "ann", ...Array(count - 2).fill("d")].join("/")}`)
  const max = bounds.files.plainPathNames.value
  assert.deepEqual([(await get(max)).status, waits.callCount()], [404, 0])
  assert.deepEqual([(await get(max + 1)).status, waits.callCount()], [404, 1])
  const long = `${server.url}/users/ann/${"d/".repeat(max)}`
  await server.ask("COPY", "/users/ann/a", { headers: { destination: long } })
  assert.equal(waits.callCount(), 2, "with a long Destination")
  await server.ask("PUT", "/users/ann/a", { headers: { if: `<${long}> (["x"])` }, body: "x" })
  assert.equal(waits.callCount(), 3, "with a long path in If")
})

test("requests of a person whose others took milliseconds of a turn wait for later ones", async (t) => {
  await using server = await TestFilesServer.start()
  const connections = await Promise.all(Array.from({ length: 20 }, () => server.raw()))
  const get = `GET /users/ann/none HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("ann")}\r\n\r\n`
  const answers = (text: string) =>
    Promise.all(
      connections.map((connection) => {
        connection.write(get)
        return connection.until(text)
      }),
    )
  await answers('"not_found"}')
  const { openDescendant } = TreeDirectory.prototype
  t.mock.method(TreeDirectory.prototype, "openDescendant", function (this: TreeDirectory, names: readonly string[]) {
    for (const until = performance.now() + 1; performance.now() < until; );
    return openDescendant.call(this, names)
  })
  // The requests begin in as many turns as they need, and go on in one.
  const { identify } = RightsCache.prototype
  const all = Promise.withResolvers<void>()
  let arrived = 0
  t.mock.method(RightsCache.prototype, "identify", async function (this: RightsCache, ...given: Parameters<typeof identify>) {
    arrived += 1
    if (arrived === connections.length) all.resolve()
    await all.promise
    await nextLoop()
    return identify.apply(this, given)
  })
  const waits = t.mock.method(sharedScheduler, "waitForNextSlot").mock
  await answers('"not_found"}HTTP')
  assert.ok(waits.callCount() > 5, `${waits.callCount()} wait`)
  for (const { socket } of connections) socket.destroy()
})

test("conditions of an `If` header look each path up once, and have a bound of names", async (t) => {
  await using server = await TestFilesServer.start()
  const put = (headers: Record<string, string>) => server.ask("PUT", "/users/ann/d/file", { headers, body: "x" })
  mkdirSync(server.at("d"))
  const opened = t.mock.method(TreeDirectory.prototype, "openDescendant").mock
  assert.equal((await put({ if: '(["x"]) '.repeat(60) })).status, 412)
  assert.ok(opened.callCount() < 5, `${opened.callCount()} looked up`)
  const deep = `</users/ann/${"d/".repeat(200)}> (["x"]) `
  assert.deepEqual([(await put({ if: deep })).status, (await put({ if: deep.repeat(3) })).status], [412, 400])
})

test("a person's copies wait for each other and not for another person's", async () => {
  const queue = new CopyQueue()
  const most = bounds.files.copiesAtOnce.value
  const running = await Promise.all(Array.from({ length: most }, () => queue.acquire(1)))
  let isIn = false
  const next = queue.acquire(1).then((place) => {
    isIn = true
    return place
  })
  ;(await queue.acquire(2))[Symbol.dispose]()
  assert.equal(isIn, false)
  running[0]?.[Symbol.dispose]()
  ;(await next)[Symbol.dispose]()
  for (const place of running.slice(1)) place[Symbol.dispose]()
})

import assert from "node:assert/strict"
import { createServer } from "node:net"
import { test } from "node:test"
import { ManualClock, silentLogger } from "#kit"
import { freeRange } from "../../test/fixtures/free-ports.ts"
import { RunPorts } from "./ports.ts"
import { type Asked, ann, cookiesOf, keyA, keyB, Program, page, Scene, type SceneOptions, targetOf } from "./scene.ts"

/** A gateway that people reach by a plain name, before the runs 1 (key `aaaa…`) and 2 of one person, each with a port. */
async function open(options: SceneOptions = {}) {
  const ports = await freeRange(4)
  const scene = await Scene.open({ appsUrl: "http://gpu1:8081", ports, ...options })
  scene.host.targets.set(keyB, { ...targetOf(2, keyB), address: scene.target.address })
  const place = async (key: string) => {
    const target = scene.host.targets.get(key)
    assert.ok(target)
    await scene.gateway.reach(target)
    const { host, port } = new URL(scene.gateway.openAddress(target))
    const ask = (path: string, asked: Asked = {}) => scene.ask(host, path, { ...asked, port: Number(port) })
    return { target, host, port: Number(port), ask }
  }
  const [a, b] = [await place(keyA), await place(keyB)]
  /** Lets a browser in that sends these cookies already; answers what it sends from then on. */
  const enter = async ({ target, ask }: typeof a, cookie = "") => {
    const started = await ask("/", { headers: { ...page, cookie } })
    const nonce = new URL(started.headers.location ?? "").searchParams.get("nonce") ?? ""
    const ticket = new URL(scene.gateway.tickets.issue({ visitor: ann, target, nonce }))
    assert.equal(ticket.host, (target === a.target ? a : b).host)
    const entered = await ask(ticket.pathname + ticket.search, { headers: { ...page, cookie: cookiesOf(started) } })
    assert.equal(entered.status, 302)
    return [cookie, cookiesOf(entered)].filter((each) => each !== "").join("; ")
  }
  return { scene, ports, a, b, enter, [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose]() }
}

test("a run has a port of its own, where a ticket lets a browser in under a cookie named after the port", async () => {
  await using made = await open()
  const { a, b, ports } = made
  assert.notEqual(a.port, b.port)
  for (const { host, port } of [a, b]) {
    assert.equal(host, `gpu1:${port}`)
    assert.ok(port >= ports.first && port <= ports.last)
  }
  const cookie = await made.enter(a)
  assert.match(cookie, new RegExp(`^quayside-run-${a.port}=`))
  assert.equal(JSON.parse((await a.ask("/x?y=1", { headers: { cookie } })).text).url, "/x?y=1")
  assert.equal((await b.ask("/x", { headers: { cookie } })).status, 401, "a session is for one run")
  assert.equal((await a.ask("/x")).status, 401)
  assert.equal((await made.scene.ask("evil.test", "/x", { port: a.port, headers: { cookie } })).status, 400, "and for the host's own name")
})

test("what a program keeps in cookies comes back to it alone, whatever other ports of the host and scripts add", async () => {
  const program = new Program((request, response) => {
    request.resume()
    response.writeHead(200, { "set-cookie": ["own=a=b c; Path=/sub; HttpOnly; Domain=gpu1", "_xsrf=2|x", "quayside-run=planted"] })
    response.end(request.headers.cookie ?? "none")
  })
  await using made = await open({ program })
  const { a, b } = made
  const jar = await made.enter(a)
  const set = await a.ask("/", { headers: { cookie: jar } })
  const [own = "", xsrf = ""] = set.headers["set-cookie"] ?? []
  assert.equal(set.headers["set-cookie"]?.length, 2)
  assert.match(own, new RegExp(`^quayside-at-${a.port}-own=[\\w.-]+; Path=/sub; HttpOnly$`))
  assert.match(xsrf, /; HttpOnly$/)
  const all = `${await made.enter(b, jar)}; ${cookiesOf(set)}; own=script; quayside_session=secret; quayside-at-${a.port}-own=planted`
  assert.equal((await a.ask("/", { headers: { cookie: all } })).text, "own=a=b c; _xsrf=2|x")
  assert.equal((await b.ask("/", { headers: { cookie: all } })).text, "none")
  const moved = all.replaceAll(`quayside-at-${a.port}-`, `quayside-at-${b.port}-`)
  assert.equal((await b.ask("/", { headers: { cookie: moved } })).text, "none", "they are signed for the run")
  const renamed = all.replaceAll(`${a.port}-own`, `${a.port}-other`)
  assert.equal((await a.ask("/", { headers: { cookie: renamed } })).text, "_xsrf=2|x")
})

test("a page of one port acts at no other", async () => {
  await using made = await open()
  const { a, b } = made
  const cookie = await made.enter(a)
  const own = { cookie, origin: `http://${a.host}` }
  const other = { cookie, origin: `http://${b.host}` }
  assert.equal((await a.ask("/", { method: "POST", headers: own })).status, 200)
  assert.equal((await a.ask("/", { method: "POST", headers: other })).status, 403)
  assert.equal((await a.ask("/", { headers: other })).status, 403)
  const answer = await a.ask("/", { headers: { cookie } })
  assert.equal(answer.headers["cross-origin-resource-policy"], "same-origin")
})

test("programs reach a run below the apps URL as ever, and a port is closed when its run is over", async () => {
  await using made = await open()
  const { scene, a } = made
  assert.equal((await scene.ask("gpu1:8081", "/run/1/", { headers: { authorization: "Bearer ann" } })).status, 200)
  assert.equal((await scene.ask(`${keyA}.gpu1:8081`, "/")).status, 400, "runs have no names then")
  scene.host.targets.delete(keyA)
  await scene.gateway.recheck()
  await assert.rejects(a.ask("/"), { code: "ECONNREFUSED" })
  assert.equal(scene.gateway.hasOrigin(a.target), false)
  assert.throws(() => scene.gateway.openAddress(a.target), { code: "unavailable" })
})

test("a gateway that starts again gives the runs their ports before anybody asks", async () => {
  const ports = await freeRange(4)
  await using scene = await Scene.open({ appsUrl: "http://gpu1:8081", ports })
  assert.equal(new URL(scene.gateway.openAddress(scene.target)).port, String(ports.first + 1))
})

test("runs with ports of their own are reached by http", async () => {
  await assert.rejects(Scene.open({ appsUrl: "https://gpu1", ports: await freeRange(4) }), TypeError)
})

test("a port is one person's for ever; a project comes back to its own, and none is taken from anybody", async () => {
  const opened: number[] = []
  const busy = new Set<number>()
  const clock = new ManualClock()
  const openPort = async (port: number) => {
    if (busy.has(port)) throw new Error("EADDRINUSE")
    opened.push(port)
    return { close: () => void opened.splice(opened.indexOf(port), 1) }
  }
  const ports = new RunPorts({ range: { first: 21_000, last: 21_009 }, open: openPort, logger: silentLogger, clock })
  const run = (id: number, userId: number, projectId: number) => ({ ...targetOf(id, `${id}`.padStart(32, "0")), userId, projectId })
  const [one, two, three, four, five] = [run(1, 1, 6), run(2, 1, 6), run(3, 1, 7), run(4, 1, 1), run(5, 1, 2)] as const
  await ports.sync([two, one, three, four, five, run(6, 2, 4), run(7, 3, 1)])
  const of = (target: { key: string }) => ports.portOf(target.key)
  assert.deepEqual([one, two, three, four, five].map(of), [21_002, 21_003, 21_000, 21_001, undefined])
  assert.equal(of(run(6, 2, 4)), 21_004)
  assert.equal(of(run(7, 3, 1)), undefined, "whoever has not all four in the range has none")
  await ports.sync([five])
  assert.deepEqual([of(five), of(one), opened], [21_002, undefined, [21_002]])
  busy.add(21_003)
  await ports.ensure(run(8, 1, 3))
  assert.equal(of(run(8, 1, 3)), 21_000, "what something else listens on is passed over")
})

test("a port that something else has is left to it", async () => {
  const ports = await freeRange(4)
  const other = createServer().listen(ports.first + 1, "127.0.0.1")
  await using scene = await Scene.open({ appsUrl: "http://gpu1:8081", ports })
  assert.equal(new URL(scene.gateway.openAddress(scene.target)).port, String(ports.first + 2))
  await new Promise((resolve) => other.close(resolve))
})

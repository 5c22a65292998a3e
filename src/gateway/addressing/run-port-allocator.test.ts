import assert from "node:assert/strict"
import { createServer } from "node:net"
import { test } from "node:test"
import { ManualClock, silentLogger } from "#kit"
import { freeRange } from "../../../test/fixtures/free-ports.ts"
import type { RunTarget } from "../run-directory.ts"
import {
  ann,
  aRunTarget,
  cookiesOf,
  type FixtureRequest,
  GatewayFixture,
  type GatewayFixtureOptions,
  keyA,
  keyB,
  navigationHeaders,
  TestPortAssignments,
  TestProgram,
} from "../testing/gateway-fixture.ts"
import { RunPortAllocator } from "./run-port-allocator.ts"

/**
 * A gateway that people reach by a plain name, before the runs 1 (key `aaaa…`) and 2 of one person,
 * each with a port.
 */
async function open(options: GatewayFixtureOptions = {}) {
  const ports = { ...(await freeRange(8)), ledger: new TestPortAssignments() }
  const fixture = await GatewayFixture.open({ appsUrl: "http://gpu1:8081", ports, ...options })
  fixture.runs.targets.set(keyB, { ...aRunTarget(2, keyB), address: fixture.target.address })
  const place = async (key: string) => {
    const target = fixture.runs.targets.get(key)
    assert.ok(target)
    await fixture.gateway.ensureOrigin(target)
    const { host, port } = new URL(fixture.gateway.openUrl(target))
    const request = (path: string, requestOptions: FixtureRequest = {}) =>
      fixture.ask(host, path, { ...requestOptions, port: Number(port) })
    return { target, host, port: Number(port), request }
  }
  const [a, b] = [await place(keyA), await place(keyB)]
  /** Lets a browser in that sends these cookies already; answers what it sends from then on. */
  const enter = async ({ target, request }: typeof a, cookie = "") => {
    const started = await request("/", { headers: { ...navigationHeaders, cookie } })
    const nonce = new URL(started.headers.location ?? "").searchParams.get("nonce") ?? ""
    const ticket = new URL(fixture.gateway.tickets.issue({ visitor: ann, target, nonce }))
    assert.equal(ticket.host, (target === a.target ? a : b).host)
    const entered = await request(ticket.pathname + ticket.search, { headers: { ...navigationHeaders, cookie: cookiesOf(started) } })
    assert.equal(entered.status, 302)
    return [cookie, cookiesOf(entered)].filter((each) => each !== "").join("; ")
  }
  return { fixture, ports, a, b, enter, [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() }
}

test("a ticket opens a run at its own port, under a cookie named after the port", async () => {
  await using created = await open()
  const { a, b, ports } = created
  assert.notEqual(a.port, b.port)
  for (const { host, port } of [a, b]) {
    assert.equal(host, `gpu1:${port}`)
    assert.ok(port >= ports.first && port <= ports.last)
  }
  const cookie = await created.enter(a)
  assert.match(cookie, new RegExp(`^quayside-run-${a.port}=`))
  assert.equal(JSON.parse((await a.request("/x?y=1", { headers: { cookie } })).text).url, "/x?y=1")
  assert.equal((await b.request("/x", { headers: { cookie } })).status, 401, "a session is for one run")
  assert.equal((await a.request("/x")).status, 401)
  assert.equal(
    (await created.fixture.ask("evil.test", "/x", { port: a.port, headers: { cookie } })).status,
    400,
    "and for the host's own name",
  )
})

test("a program receives its own cookies only, and none of other ports or scripts", async () => {
  const program = new TestProgram((request, response) => {
    request.resume()
    response.writeHead(200, { "set-cookie": ["own=a=b c; Path=/sub; HttpOnly; Domain=gpu1", "_xsrf=2|x", "quayside-run=planted"] })
    response.end(request.headers.cookie ?? "none")
  })
  await using created = await open({ program })
  const { a, b } = created
  const programCookies = await created.enter(a)
  const set = await a.request("/", { headers: { cookie: programCookies } })
  const [own = "", xsrf = ""] = set.headers["set-cookie"] ?? []
  assert.equal(set.headers["set-cookie"]?.length, 2)
  assert.match(own, new RegExp(`^quayside-at-${a.port}-own=[\\w.-]+; Path=/sub; HttpOnly$`))
  assert.match(xsrf, /; HttpOnly$/)
  const all = `${await created.enter(b, programCookies)}; ${cookiesOf(set)}; own=script; quayside_session=secret; quayside-at-${a.port}-own=planted`
  assert.equal((await a.request("/", { headers: { cookie: all } })).text, "own=a=b c; _xsrf=2|x")
  assert.equal((await b.request("/", { headers: { cookie: all } })).text, "none")
  const moved = all.replaceAll(`quayside-at-${a.port}-`, `quayside-at-${b.port}-`)
  assert.equal((await b.request("/", { headers: { cookie: moved } })).text, "none", "they are signed for the run")
  const renamed = all.replaceAll(`${a.port}-own`, `${a.port}-other`)
  assert.equal((await a.request("/", { headers: { cookie: renamed } })).text, "_xsrf=2|x")
})

test("a page at one port cannot act at another", async () => {
  await using created = await open()
  const { a, b } = created
  const cookie = await created.enter(a)
  const own = { cookie, origin: `http://${a.host}` }
  const other = { cookie, origin: `http://${b.host}` }
  assert.equal((await a.request("/", { method: "POST", headers: own })).status, 200)
  assert.equal((await a.request("/", { method: "POST", headers: other })).status, 403)
  assert.equal((await a.request("/", { headers: other })).status, 403)
  const answer = await a.request("/", { headers: { cookie } })
  assert.equal(answer.headers["cross-origin-resource-policy"], "same-origin")
})

test("programs reach a run below the apps URL, and a port closes when its run ends", async () => {
  await using created = await open()
  const { fixture, a } = created
  assert.equal((await fixture.ask("gpu1:8081", "/run/1/", { headers: { authorization: "Bearer ann" } })).status, 200)
  assert.equal((await fixture.ask(`${keyA}.gpu1:8081`, "/")).status, 400, "runs have no names then")
  fixture.runs.targets.delete(keyA)
  await fixture.gateway.recheck()
  await assert.rejects(a.request("/"), { code: "ECONNREFUSED" })
  assert.equal(fixture.gateway.hasOrigin(a.target), false)
  assert.throws(() => fixture.gateway.openUrl(a.target), { code: "unavailable" })
})

test("a restarted gateway reopens the ports of live runs", async () => {
  const ports = { ...(await freeRange(4)), ledger: new TestPortAssignments() }
  const port = ports.first + 2
  await ports.ledger.assign({ port, userId: 1, authors: "own", projectId: 1, runKey: keyA, isHandedOver: false })
  await using fixture = await GatewayFixture.open({ appsUrl: "http://gpu1:8081", ports })
  assert.equal(fixture.gateway.openUrl(fixture.target), `http://gpu1:${port}/.quayside/start`)
  assert.equal((await fixture.ask(`gpu1:${port}`, "/x", { port })).status, 401)
})

test("a run that only programs reach uses up no port", async () => {
  await using created = await open()
  const { fixture, ports } = created
  const target = { ...aRunTarget(1, "c".repeat(32)), id: 3, address: fixture.target.address }
  fixture.runs.targets.set(target.key, target)
  fixture.runs.rights.add("1 3")
  await fixture.gateway.recheck()
  assert.equal((await fixture.ask("gpu1:8081", "/run/3/", { headers: { authorization: "Bearer ann" } })).status, 200)
  assert.equal(ports.ledger.entries.size, 2)
})

test("runs with ports of their own are reached by http", async () => {
  const ports = { ...(await freeRange(4)), ledger: new TestPortAssignments() }
  await assert.rejects(GatewayFixture.open({ appsUrl: "https://gpu1", ports }), TypeError)
})

/**
 * Ports from 21000 to 21009, of which one person may have four; `live` are the runs that there are.
 */
function rig() {
  const opened = new Set<number>()
  const blocked = new Set<number>()
  const live = new Set<string>()
  const clock = new ManualClock()
  const ledger = new TestPortAssignments()
  const make = () =>
    new RunPortAllocator({
      ...{ range: { first: 21_000, last: 21_009 }, ledger, maxPerPerson: 4, logger: silentLogger, clock },
      isLive: (key) => live.has(key),
      async open(port) {
        if (blocked.has(port) || opened.has(port)) throw new Error("EADDRINUSE")
        opened.add(port)
        return { close: () => void opened.delete(port) }
      },
    })
  const run = (id: number, fields: Partial<RunTarget>): RunTarget => ({ ...aRunTarget(id, `${id}`.padStart(32, "0")), ...fields })
  let ports = make()
  const start = async (target: RunTarget) => {
    live.add(target.key)
    return (await ports.ensure(target)) ?? ports.portOf(target.key)
  }
  const end = (...targets: RunTarget[]) => {
    for (const { key } of targets) live.delete(key)
    ports.retainOnly([...live].map((key) => ({ ...aRunTarget(0, key) })))
  }
  /** Of everything but the ledger nothing stays. */
  const restart = () => {
    opened.clear()
    ports = make()
    return ports
  }
  return { opened, blocked, clock, ledger, run, start, end, restart, current: () => ports }
}

test("a person whose runs all want ports has one of them before everybody else", async () => {
  const { run, start } = rig()
  const order: string[] = []
  const assign = async (target: RunTarget, name: string) => {
    await start(target)
    order.push(name)
  }
  const ofAnn = Array.from({ length: 20 }, (_, i) => assign(run(i + 1, { userId: 1 }), "ann"))
  await Promise.all([...ofAnn, assign(run(30, { userId: 2 }), "bob")])
  assert.ok(order.indexOf("bob") <= 2, order.join(" "))
})

test("a port belongs to one person and one set of authors for ever, also after a restart", async () => {
  const { run, start, end, restart, current } = rig()
  const own = run(1, { userId: 1, projectId: 6 })
  const evil = run(2, { userId: 1, projectId: 7, authors: "7:eve" })
  const evil2 = run(3, { userId: 1, projectId: 8, authors: "8:mal" })
  const bobs = run(4, { userId: 2, projectId: 6 })
  const first = [await start(own), await start(evil), await start(evil2), await start(bobs)]
  assert.equal(new Set(first).size, 4)
  end(own, evil, evil2, bobs)
  const repeated = [
    await start(run(14, { userId: 2, projectId: 9 })),
    await start(run(13, { userId: 1, projectId: 8, authors: "8:mal" })),
    await start(run(12, { userId: 1, projectId: 7, authors: "7:eve" })),
    await start(run(11, { userId: 1, projectId: 5 })),
  ]
  assert.deepEqual(repeated.reverse(), first)
  end(...[11, 12, 13, 14].map((id) => run(id, {})))
  restart()
  assert.equal(await start(run(21, { userId: 1, projectId: 7, authors: "7:eve,mal" })), 21_004, "other authors of a project: another port")
  assert.equal(await start(run(22, { userId: 1, projectId: 7, authors: "7:eve" })), first[1])
  assert.equal(current().isHandedOver(run(22, {}).key), false)
})

test("a project gets its previous port again, and a port of another project counts as reassigned", async () => {
  const { run, start, end, current } = rig()
  const [a, b] = [run(1, { projectId: 1 }), run(2, { projectId: 2 })]
  assert.deepEqual([await start(a), await start(b)], [21_000, 21_001])
  assert.equal(current().isHandedOver(a.key), true, "nobody knows what a browser has of a port's past")
  end(a, b)
  const [b2, c] = [run(3, { projectId: 2 }), run(4, { projectId: 3 })]
  assert.deepEqual([await start(b2), await start(c)], [21_001, 21_000])
  assert.deepEqual(
    [b2, c].map(({ key }) => current().isHandedOver(key)),
    [false, true],
  )
})

test("nobody gets more ports than the maximum, nor a port of another person", async () => {
  const { run, start, end, ledger } = rig()
  const runs = Array.from({ length: 6 }, (_, n) => run(n + 1, { userId: 1, projectId: n, authors: `${n}:eve` }))
  const received = []
  for (const each of runs) received.push(await start(each))
  assert.deepEqual(received, [21_000, 21_001, 21_002, 21_003, "person", "person"])
  end(...runs)
  assert.equal(await start(run(7, { userId: 1, projectId: 9, authors: "9:mal" })), "person", "also when none of them is in use")
  for (let id = 11; id <= 16; id += 1) assert.equal(await start(run(id, { userId: id })), 20_993 + id)
  assert.equal(await start(run(17, { userId: 17 })), "range")
  end(...[11, 12, 13].map((id) => run(id, {})))
  assert.equal(await start(run(17, { userId: 17 })), "range", "an end gives no port back")
  assert.equal(ledger.entries.size, 10)
})

test("a port is free as soon as its run has ended", async () => {
  await using created = await open()
  const { a, fixture, ports } = created
  fixture.runs.targets.delete(keyA)
  const next = { ...aRunTarget(1, "c".repeat(32)), id: 3 }
  fixture.runs.targets.set(next.key, next)
  assert.equal(await fixture.gateway.ensureOrigin(next), undefined)
  assert.equal(new URL(fixture.gateway.openUrl(next)).port, String(a.port))
  assert.equal(ports.ledger.entries.size, 2)
})

test("one person has at most half of a small range", async () => {
  const ports = { ...(await freeRange(4)), ledger: new TestPortAssignments(), maxPerPerson: 9 }
  await using fixture = await GatewayFixture.open({ appsUrl: "http://gpu1:8081", ports })
  const received = []
  for (const id of [1, 2, 3])
    received.push(await fixture.gateway.ensureOrigin({ ...aRunTarget(id, `${id}`.repeat(32)), authors: `${id}:eve` }))
  assert.deepEqual(received, [undefined, undefined, "person"])
})

test("a run whose authors changed while it was queued is not served at its previous port", async () => {
  await using created = await open()
  const { a, fixture, ports } = created
  const cookie = await created.enter(a)
  assert.equal((await a.request("/x", { headers: { cookie } })).status, 200)
  const changed = { ...a.target, authors: "1:eve" }
  fixture.runs.targets.set(keyA, changed)
  assert.equal((await a.request("/x", { headers: { cookie } })).status, 404)
  assert.equal(await fixture.gateway.ensureOrigin(changed), undefined)
  assert.notEqual(new URL(fixture.gateway.openUrl(changed)).port, String(a.port))
  assert.equal(ports.ledger.entries.get(a.port)?.authors, "own")
})

test("a port on which another program listens is assigned to nobody", async () => {
  const { run, start, blocked, clock, ledger } = rig()
  blocked.add(21_000)
  assert.equal(await start(run(1, {})), 21_001)
  assert.equal(ledger.entries.has(21_000), false)
  blocked.delete(21_000)
  await clock.advance(10_000)
  assert.equal(await start(run(2, {})), 21_000)
  for (let port = 21_002; port <= 21_009; port += 1) blocked.add(port)
  assert.equal(await start(run(3, {})), "blocked")
})

test("the gateway skips a port on which another program listens", async () => {
  const ports = { ...(await freeRange(4)), ledger: new TestPortAssignments() }
  const other = createServer().listen(ports.first, "127.0.0.1")
  await using fixture = await GatewayFixture.open({ appsUrl: "http://gpu1:8081", ports })
  await fixture.gateway.ensureOrigin(fixture.target)
  assert.equal(new URL(fixture.gateway.openUrl(fixture.target)).port, String(ports.first + 1))
  await new Promise((resolve) => other.close(resolve))
})

test("a run loses a port that could not be recorded", async () => {
  const { run, start, ledger, opened } = rig()
  ledger.assign = async () => {
    throw new Error("the disk is full")
  }
  await assert.rejects(start(run(1, {})), /full/)
  assert.equal(opened.size, 0)
})

test("caches must revalidate responses at a port, and service workers are refused", async () => {
  const lasting = {
    "cache-control": "public, max-age=31536000, immutable, s-maxage=9",
    "cdn-cache-control": "max-age=9",
    expires: "Tue, 01 Jan 2999 00:00:00 GMT",
    age: "1",
    pragma: "x",
    "service-worker-allowed": "/",
    "last-modified": "Tue, 01 Jan 2019 00:00:00 GMT",
  }
  const program = new TestProgram((request, response) => {
    request.resume()
    const status = Number(request.url?.slice(1))
    response.writeHead(status, { ...lasting, ...(status === 301 ? { location: "/x" } : {}) }).end()
  })
  await using created = await open({ program })
  const { a, fixture } = created
  const cookie = await created.enter(a)
  for (const status of [200, 301, 404, 410]) {
    const { headers } = await a.request(`/${status}`, { headers: { cookie } })
    assert.equal(headers["cache-control"], "private, no-cache", `${status}`)
    for (const name of ["cdn-cache-control", "expires", "age", "pragma", "service-worker-allowed"])
      assert.equal(headers[name], undefined, name)
  }
  const below = await fixture.ask("gpu1:8081", "/run/1/200", { headers: { authorization: "Bearer ann" } })
  assert.equal(below.headers["cache-control"], "private, no-cache", "all runs share the apps URL")
  const seen = fixture.program.requests.length
  for (const headers of [{ "service-worker": "script" }, { "sec-fetch-dest": "serviceworker", "sec-fetch-site": "same-origin" }])
    assert.equal((await a.request("/200", { headers: { cookie, ...headers } })).status, 403)
  assert.equal(fixture.program.requests.length, seen)
})

test("a program's `no-store` is forwarded at a port", async () => {
  const program = new TestProgram((request, response) => {
    request.resume()
    response.writeHead(200, { "cache-control": "max-age=60, no-store" }).end()
  })
  await using created = await open({ program })
  const cookie = await created.enter(created.a)
  assert.equal((await created.a.request("/", { headers: { cookie } })).headers["cache-control"], "private, no-store")
})

test("a browser that enters another project's former port clears its storage", async () => {
  await using created = await open()
  const { a, fixture } = created
  const enter = async () => {
    const started = await a.request("/", { headers: navigationHeaders })
    const nonce = new URL(started.headers.location ?? "").searchParams.get("nonce") ?? ""
    const ticket = new URL(fixture.gateway.tickets.issue({ visitor: ann, target: fixture.target, nonce }))
    return a.request(ticket.pathname + ticket.search, { headers: { ...navigationHeaders, cookie: cookiesOf(started) } })
  }
  assert.equal((await enter()).headers["clear-site-data"], '"cache", "storage"')
})

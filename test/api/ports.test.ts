import assert from "node:assert/strict"
import { test } from "node:test"
import { freeRange } from "../fixtures/free-ports.ts"
import { adminPassword, openWorld, type World } from "../world.ts"
import { ask } from "./asking.ts"

const tab = { "sec-fetch-dest": "document", "sec-fetch-mode": "navigate", "sec-fetch-site": "none" }
const cookiesOf = (headers: Record<string, unknown>) =>
  ((headers["set-cookie"] ?? []) as string[]).map((line) => line.split(";")[0]).join("; ")

/**
 * A world whose runs have ports from a range of this size, with one published image of the
 * administrator's.
 */
async function withPorts(count: number, more: Record<string, string> = {}) {
  const { first, last } = await freeRange(count)
  const world = await openWorld({ "apps-ports": `${first}-${last}`, ...more })
  const image = await world.admin.createImage({ body: { Name: "i", Image: "fake/http", IsPublished: true } })
  return Object.assign(world, { first, last, image })
}

/** A signed-in person's browser, as far as `/open` is concerned. */
async function browserOf(world: World, UserName: string, Password = `${UserName}-password`) {
  const { baseUrl } = world.quayside
  const session = cookiesOf((await ask(baseUrl, "POST", "/session", { body: { UserName, Password } })).headers)
  const open = (ID: number) => ask(baseUrl, "GET", `/open?ID=${ID}`, { headers: { cookie: session, ...tab } })
  return {
    session,
    open,
    /** The port at which a run is opened. */
    async port(ID: number): Promise<number> {
      const { status, headers, text } = await open(ID)
      assert.equal(status, 302, text)
      return Number(new URL(String(headers.location)).port)
    },
  }
}

test("with a range of ports a browser reaches each run at a port of its own", async () => {
  await using world = await withPorts(8)
  const { baseUrl, appsUrl } = world.quayside
  const { session, open } = await browserOf(world, "admin", adminPassword)
  const origins = new Set<string>()
  for (const name of ["one", "two"]) {
    const { ID } = await world.admin.createProject({ body: { ProjectName: name, Type: "http", ImageID: world.image.ID } })
    const run = await world.admin.startRun({ body: { ProjectID: ID } })
    assert.ok(run.URL.startsWith(`${appsUrl}/run/`))
    const start = new URL(String((await open(run.ID)).headers.location))
    assert.ok(Number(start.port) >= world.first && Number(start.port) <= world.last, start.href)
    origins.add(start.origin)
    const started = await ask(start.origin, "GET", start.pathname + start.search, { headers: tab })
    const toBase = new URL(String(started.headers.location))
    const ticket = new URL(
      String((await ask(baseUrl, "GET", toBase.pathname + toBase.search, { headers: { cookie: session, ...tab } })).headers.location),
    )
    assert.equal(ticket.origin, start.origin)
    const entered = await ask(ticket.origin, "GET", ticket.pathname + ticket.search, {
      headers: { cookie: cookiesOf(started.headers), ...tab },
    })
    const seen = await ask(start.origin, "GET", "/", { headers: { cookie: cookiesOf(entered.headers), "sec-fetch-site": "same-origin" } })
    assert.equal(seen.status, 200)
  }
  assert.equal(origins.size, 2)
})

test("own and strangers' projects, and those of two strangers, never share a port, whoever changed what in between", async () => {
  await using world = await withPorts(40)
  const [ann, eve, mal] = [await world.person("ann"), await world.person("eve"), await world.person("mal")]
  await world.acquaint(ann, mal)
  const { port } = await browserOf(world, "ann")
  const make = async (by: typeof ann, more: object = {}) =>
    (await by.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: world.image.ID, ...more } })).ID
  /** Where a run of Ann's is opened; it is over then. */
  const portOf = async (ProjectID: number) => {
    const run = await ann.client.startRun({ body: { ProjectID } })
    const found = await port(run.ID)
    await ann.client.stopRun({ query: { ID: run.ID } })
    return found
  }
  const [own, other] = [await make(ann), await make(ann)]
  const ownPort = await portOf(own)
  const theirs = [await make(eve, { IsPublic: true }), await make(eve, { IsPublic: true }), await make(mal, { IsPublic: true })]
  const strangers = []
  for (const each of theirs) strangers.push(await portOf(each))
  assert.equal(new Set([ownPort, ...strangers]).size, 4)
  assert.equal(await portOf(other), ownPort, "one's own share them")
  assert.equal(await portOf(theirs[0] as number), strangers[0])
  const evil = await eve.client.createImage({ body: { Name: "e", Image: "fake/http", IsPublished: true } })
  const seen = new Set([ownPort, ...strangers])
  const isNew = async (ID: number, what: string) => {
    const found = await portOf(ID)
    assert.ok(!seen.has(found), what)
    seen.add(found)
  }
  await isNew(await make(ann, { ImageID: evil.ID }), "a stranger's image in one's own project")
  const data = await eve.client.createData({ body: { Name: "d", IsPublished: true } })
  await isNew(await make(ann, { TrainData: [{ ID: data.ID }] }), "a stranger's dataset in one's own project")
  const lent = await world.admin.createData({ body: { Name: "l", AccessInfo: "/users/eve/lent", IsPublished: true } })
  await isNew(await make(ann, { TrainData: [{ ID: lent.ID }] }), "an administrator's dataset in a stranger's home")
  await ann.client.createGrant({ body: { ProjectID: other, UserName: "mal", Access: "write" } })
  await isNew(other, "somebody else may change the project")
  const copied = await ann.client.copyProject({ query: { ID: theirs[2] as number } })
  await isNew(copied.ID, "a copy is what its first owner wrote")
  await world.restart()
  assert.equal(await portOf(own), ownPort, "also after a restart")
  assert.equal(await portOf(theirs[2] as number), strangers[2])
  const bob = await world.person("bob")
  const bobs = await bob.client.startRun({ body: { ProjectID: theirs[0] as number } })
  assert.ok(!seen.has(await (await browserOf(world, "bob")).port(bobs.ID)), "a port is one person's")
})

test("a live run keeps its port over a restart", async () => {
  await using world = await withPorts(8)
  const { port } = await browserOf(world, "admin", adminPassword)
  const runs = []
  for (const name of ["one", "two"]) {
    const { ID } = await world.admin.createProject({ body: { ProjectName: name, Type: "http", ImageID: world.image.ID } })
    runs.push(await world.admin.startRun({ body: { ProjectID: ID } }))
  }
  const ports = [await port(runs[1]?.ID ?? 0), await port(runs[0]?.ID ?? 0)]
  await world.restart()
  for (const each of ports) assert.equal((await ask(`http://127.0.0.1:${each}`, "GET", "/")).status, 401, "it is listened on at once")
  assert.deepEqual([await port(runs[1]?.ID ?? 0), await port(runs[0]?.ID ?? 0)], ports)
})

test("one person cannot use up the ports, and a browser is told what to do when there are none", async () => {
  await using world = await withPorts(6, { "apps-ports-per-person": "2" })
  const eve = await world.person("eve")
  const open = async (name: string, person: Awaited<ReturnType<World["person"]>>) => {
    const { ID } = await eve.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: world.image.ID, IsPublic: true } })
    const run = await person.client.startRun({ body: { ProjectID: ID } })
    const opened = await (await browserOf(world, name)).open(run.ID)
    assert.equal((await ask(run.URL, "GET", new URL(run.URL).pathname, { as: person.authorization })).status, 200, "tokens work as ever")
    await person.client.stopRun({ query: { ID: run.ID } })
    return opened
  }
  for (const name of ["ann", "bob", "cat"]) {
    const person = await world.person(name)
    for (let n = 0; n < 2; n += 1) assert.equal((await open(name, person)).status, 302)
    const third = await open(name, person)
    assert.equal(third.status, 503)
    assert.match(third.text, /No address for browsers is free.*QUAYSIDE_APPS_PORTS_PER_PERSON/s)
  }
  const last = await open("dan", await world.person("dan"))
  assert.equal(last.status, 503)
  assert.match(last.text, /No address for browsers is free.*enlarge QUAYSIDE_APPS_PORTS\b/s)
})

test("a range of ports that cannot be had stops the start with a sentence", async () => {
  const start = (ports: string, more: Record<string, string> = {}) => openWorld({ "apps-ports": ports, ...more })
  await assert.rejects(async () => start("21000"), {
    name: "SettingError",
    message: /must be a range of four ports or more from 1024 on, like 21000-21999/,
  })
  await assert.rejects(async () => start("1024-65535"), {
    name: "SettingError",
    message: /must not hold \d+, which one of the three addresses has/,
  })
  await assert.rejects(async () => start("1024-1027", { "apps-url": "https://apps.example.com" }), {
    name: "SettingError",
    message: /with TLS/,
  })
})

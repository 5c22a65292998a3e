import assert from "node:assert/strict"
import { test } from "node:test"
import { freeRange } from "../fixtures/free-ports.ts"
import { adminPassword, startTestServer, type TestServer } from "../test-server.ts"
import { sendRequest } from "./http-client.ts"

const tab = { "sec-fetch-dest": "document", "sec-fetch-mode": "navigate", "sec-fetch-site": "none" }
const cookiesOf = (headers: Record<string, unknown>) =>
  ((headers["set-cookie"] ?? []) as string[]).map((line) => line.split(";")[0]).join("; ")

/**
 * A server whose runs have ports from a range of this size, with a published image of the
 * administrator's.
 */
async function withPorts(count: number, more: Record<string, string> = {}) {
  const { first, last } = await freeRange(count)
  const server = await startTestServer({ "apps-ports": `${first}-${last}`, ...more })
  const image = await server.admin.createImage({ body: { Name: "i", Image: "fake/http", IsPublished: true } })
  return Object.assign(server, { first, last, image })
}

/** A signed-in person's browser, as far as `/open` needs it. */
async function browserOf(server: TestServer, UserName: string, Password = `${UserName}-password`) {
  const { baseUrl } = server.quayside
  const session = cookiesOf((await sendRequest(baseUrl, "POST", "/session", { body: { UserName, Password } })).headers)
  const open = (ID: number) => sendRequest(baseUrl, "GET", `/open?ID=${ID}`, { headers: { cookie: session, ...tab } })
  return {
    session,
    open,
    /** The port of an opened run. */
    async port(ID: number): Promise<number> {
      const { status, headers, text } = await open(ID)
      assert.equal(status, 302, text)
      return Number(new URL(String(headers.location)).port)
    },
  }
}

test("with a range of ports a browser reaches each run at a port of its own", async () => {
  await using server = await withPorts(8)
  const { baseUrl, appsUrl } = server.quayside
  const { session, open } = await browserOf(server, "admin", adminPassword)
  const origins = new Set<string>()
  for (const name of ["one", "two"]) {
    const { ID } = await server.admin.createProject({ body: { ProjectName: name, Type: "http", ImageID: server.image.ID } })
    const run = await server.admin.startRun({ body: { ProjectID: ID } })
    assert.ok(run.URL.startsWith(`${appsUrl}/run/`))
    const start = new URL(String((await open(run.ID)).headers.location))
    assert.ok(Number(start.port) >= server.first && Number(start.port) <= server.last, start.href)
    origins.add(start.origin)
    const started = await sendRequest(start.origin, "GET", start.pathname + start.search, { headers: tab })
    const toBase = new URL(String(started.headers.location))
    const ticket = new URL(
      String(
        (await sendRequest(baseUrl, "GET", toBase.pathname + toBase.search, { headers: { cookie: session, ...tab } })).headers.location,
      ),
    )
    assert.equal(ticket.origin, start.origin)
    const entered = await sendRequest(ticket.origin, "GET", ticket.pathname + ticket.search, {
      headers: { cookie: cookiesOf(started.headers), ...tab },
    })
    const seen = await sendRequest(start.origin, "GET", "/", {
      headers: { cookie: cookiesOf(entered.headers), "sec-fetch-site": "same-origin" },
    })
    assert.equal(seen.status, 200)
  }
  assert.equal(origins.size, 2)
})

test("own and strangers' projects, and those of two strangers, never share a port, also after changes", async () => {
  await using server = await withPorts(40)
  const [ann, eve, mal] = [await server.person("ann"), await server.person("eve"), await server.person("mal")]
  await server.acquaint(ann, mal)
  const { port } = await browserOf(server, "ann")
  const make = async (by: typeof ann, more: object = {}) =>
    (await by.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: server.image.ID, ...more } })).ID
  /** Opens and ends a run of Ann's; returns its address. */
  const portOf = async (ProjectID: number) => {
    const run = await ann.client.startRun({ body: { ProjectID } })
    const found = await port(run.ID)
    await ann.client.stopRun({ query: { ID: run.ID } })
    return found
  }
  const [own, other] = [await make(ann), await make(ann)]
  const ownPort = await portOf(own)
  const others = [await make(eve, { IsPublic: true }), await make(eve, { IsPublic: true }), await make(mal, { IsPublic: true })]
  const strangers = []
  for (const each of others) strangers.push(await portOf(each))
  assert.equal(new Set([ownPort, ...strangers]).size, 4)
  assert.equal(await portOf(other), ownPort, "one's own share them")
  assert.equal(await portOf(others[0] as number), strangers[0])
  const evil = await eve.client.createImage({ body: { Name: "e", Image: "fake/http", IsPublished: true } })
  const seen = new Set([ownPort, ...strangers])
  const isNew = async (ID: number, what: string) => {
    const found = await portOf(ID)
    assert.ok(!seen.has(found), what)
    seen.add(found)
  }
  const adminsProject = { ProjectName: "p", Type: "http", ImageID: server.image.ID, IsPublic: true } as const
  await isNew((await server.admin.createProject({ body: adminsProject })).ID, "an administrator's project")
  await isNew(await make(ann, { ImageID: evil.ID }), "a stranger's image in one's own project")
  const data = await eve.client.createData({ body: { Name: "d", IsPublished: true } })
  await isNew(await make(ann, { TrainData: [{ ID: data.ID }] }), "a stranger's dataset in one's own project")
  const lent = await server.admin.createData({ body: { Name: "l", AccessInfo: "/users/eve/lent", IsPublished: true } })
  await isNew(await make(ann, { TrainData: [{ ID: lent.ID }] }), "an administrator's dataset in a stranger's home")
  await ann.client.createGrant({ body: { ProjectID: other, UserName: "mal", Access: "write" } })
  await isNew(other, "somebody else may change the project")
  const copied = await ann.client.copyProject({ query: { ID: others[2] as number } })
  await isNew(copied.ID, "a copy is what its first owner wrote")
  await server.restart()
  assert.equal(await portOf(own), ownPort, "also after a restart")
  assert.equal(await portOf(others[2] as number), strangers[2])
  const bob = await server.person("bob")
  const bobs = await bob.client.startRun({ body: { ProjectID: others[0] as number } })
  assert.ok(!seen.has(await (await browserOf(server, "bob")).port(bobs.ID)), "a port is one person's")
})

test("whoever once could write to a dataset never shares a port with one's own projects", async () => {
  await using server = await withPorts(40)
  const [ann, bob] = [await server.person("ann"), await server.person("bob")]
  await server.acquaint(ann, bob)
  const { port } = await browserOf(server, "ann")
  const portWith = async (...datasets: number[]) => {
    const TrainData = datasets.map((ID) => ({ ID }))
    const { ID: ProjectID } = await ann.client.createProject({
      body: { ProjectName: "p", Type: "http", ImageID: server.image.ID, TrainData },
    })
    const run = await ann.client.startRun({ body: { ProjectID } })
    const found = await port(run.ID)
    await ann.client.stopRun({ query: { ID: run.ID } })
    return found
  }
  const makeData = async (AccessInfo = "") => (await ann.client.createData({ body: { Name: "d", AccessInfo } })).ID
  const [ownPort, untouched] = [await portWith(), await makeData()]
  assert.equal(await portWith(untouched), ownPort)
  const lent = await makeData("/users/ann/lent")
  const { ID } = await ann.client.createGrant({ body: { DataID: lent, UserName: "bob", Access: "write" } })
  await ann.client.deleteGrant({ query: { ID } })
  assert.notEqual(await portWith(lent), ownPort, "a grant that ended")
  assert.notEqual(await portWith(await makeData("/users/ann/lent/inner")), ownPort, "a directory that he could write to by another dataset")
  const given = await bob.client.createData({ body: { Name: "d" } })
  await server.admin.updateData({ body: { ID: given.ID, UserName: "ann" } })
  assert.notEqual(await portWith(given.ID), ownPort, "a dataset of a former owner")
  assert.equal(await portWith(untouched), ownPort)
})

test("a live run keeps its port over a restart", async () => {
  await using server = await withPorts(8)
  const { port } = await browserOf(server, "admin", adminPassword)
  const runs = []
  for (const name of ["one", "two"]) {
    const { ID } = await server.admin.createProject({ body: { ProjectName: name, Type: "http", ImageID: server.image.ID } })
    runs.push(await server.admin.startRun({ body: { ProjectID: ID } }))
  }
  const ports = [await port(runs[1]?.ID ?? 0), await port(runs[0]?.ID ?? 0)]
  await server.restart()
  for (const each of ports)
    assert.equal((await sendRequest(`http://127.0.0.1:${each}`, "GET", "/")).status, 401, "it is listened on at once")
  assert.deepEqual([await port(runs[1]?.ID ?? 0), await port(runs[0]?.ID ?? 0)], ports)
})

test("one person cannot use up the ports, and browsers get advice when none is free", async () => {
  await using server = await withPorts(6, { "apps-ports-per-person": "2" })
  const eve = await server.person("eve")
  const open = async (name: string, person: Awaited<ReturnType<TestServer["person"]>>) => {
    const { ID } = await eve.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: server.image.ID, IsPublic: true } })
    const run = await person.client.startRun({ body: { ProjectID: ID } })
    const opened = await (await browserOf(server, name)).open(run.ID)
    assert.equal(
      (await sendRequest(run.URL, "GET", new URL(run.URL).pathname, { as: person.authorization })).status,
      200,
      "tokens work as ever",
    )
    await person.client.stopRun({ query: { ID: run.ID } })
    return opened
  }
  for (const name of ["ann", "bob", "cat"]) {
    const person = await server.person(name)
    for (let n = 0; n < 2; n += 1) assert.equal((await open(name, person)).status, 302)
    const third = await open(name, person)
    assert.equal(third.status, 503)
    assert.match(third.text, /No address for browsers is free.*QUAYSIDE_APPS_PORTS_PER_PERSON/s)
  }
  const last = await open("dan", await server.person("dan"))
  assert.equal(last.status, 503)
  assert.match(last.text, /No address for browsers is free.*enlarge QUAYSIDE_APPS_PORTS\b/s)
})

test("an unavailable range of ports stops the start with a sentence", async () => {
  const start = (ports: string, more: Record<string, string> = {}) => startTestServer({ "apps-ports": ports, ...more })
  await assert.rejects(async () => start("21000"), {
    name: "SettingError",
    message: /must be a range of four ports or more from 1024 on, like 21000-21999/,
  })
  await assert.rejects(async () => start("1024-65535"), {
    name: "SettingError",
    message: /must not contain \d+, the port of one of the three addresses/,
  })
  await assert.rejects(async () => start("1024-1027", { "apps-url": "https://apps.example.com" }), {
    name: "SettingError",
    message: /with TLS/,
  })
})

import assert from "node:assert/strict"
import { test } from "node:test"
import { freeRange } from "../fixtures/free-ports.ts"
import { adminPassword, openWorld } from "../world.ts"
import { ask } from "./asking.ts"

const tab = { "sec-fetch-dest": "document", "sec-fetch-mode": "navigate", "sec-fetch-site": "none" }
const cookiesOf = (headers: Record<string, unknown>) =>
  ((headers["set-cookie"] ?? []) as string[]).map((line) => line.split(";")[0]).join("; ")

test("with a range of ports a browser reaches each run at a port of its own", async () => {
  const { first, last } = await freeRange(8)
  await using world = await openWorld({ "apps-ports": `${first}-${last}` })
  const { baseUrl, appsUrl } = world.quayside
  const signedIn = await ask(baseUrl, "POST", "/session", { body: { UserName: "admin", Password: adminPassword } })
  const session = cookiesOf(signedIn.headers)
  const image = await world.admin.createImage({ body: { Name: "i", Image: "fake/http" } })
  const origins = new Set<string>()
  for (const name of ["one", "two"]) {
    const { ID } = await world.admin.createProject({ body: { ProjectName: name, Type: "http", ImageID: image.ID } })
    const run = await world.admin.startRun({ body: { ProjectID: ID } })
    assert.ok(run.URL.startsWith(`${appsUrl}/run/`))
    const opened = await ask(baseUrl, "GET", `/open?ID=${run.ID}`, { headers: { cookie: session, ...tab } })
    const start = new URL(String(opened.headers.location))
    assert.ok(Number(start.port) >= first && Number(start.port) < first + 4, start.href)
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

test("a person without a port of their own is told so in a browser, and their programs go on", async () => {
  const { first, last } = await freeRange(4)
  await using world = await openWorld({ "apps-ports": `${first}-${last}` })
  const { baseUrl } = world.quayside
  const ann = await world.person("ann")
  const image = await ann.client.createImage({ body: { Name: "i", Image: "fake/http" } })
  const { ID } = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
  const run = await ann.client.startRun({ body: { ProjectID: ID } })
  const signedIn = await ask(baseUrl, "POST", "/session", { body: { UserName: "ann", Password: ann.password } })
  const opened = await ask(baseUrl, "GET", `/open?ID=${run.ID}`, { headers: { cookie: cookiesOf(signedIn.headers), ...tab } })
  assert.equal(opened.status, 503)
  assert.match(opened.text, /No address for browsers is free/)
  assert.equal((await ask(run.URL, "GET", new URL(run.URL).pathname, { as: ann.authorization })).status, 200)
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

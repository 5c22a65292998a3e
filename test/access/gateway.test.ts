import assert from "node:assert/strict"
import { once } from "node:events"
import { request } from "node:http"
import { after, test } from "node:test"
import { WebSocket } from "ws"
import { basicAuth, bearerAuth } from "#client"
import { type HttpAnswer, sendRequest } from "../api/http-client.ts"
import { untilExpired, withSoonExpiring } from "../fixtures/expiry.ts"
import { type Cell, relationsByType } from "./expectations.ts"
import { type PersonName, scenarios, startPopulatedServer } from "./populated-server.ts"
import { forEachConcurrently } from "./requests.ts"

/**
 * The right to open a run, by hand from the specification: its starter has it, and grantees of the
 * run with `use` or `write`. For everybody else, administrators included, the run is hidden.
 */
//              starter write use read projectOwner other admin
const openCells = "ok ok ok -- -- -- --".split(" ") as Cell[]

const server = await startPopulatedServer()
after(() => server[Symbol.asyncDispose]())
const { server: testServer, people } = server
const { baseUrl, appsUrl } = testServer.quayside
const missingId = "999999999"

const tokenOf = async (who: PersonName, scopes: string[]) =>
  bearerAuth((await people[who].client.createToken({ body: { Name: "t", Scopes: scopes } })).Token)

/** The status of a WebSocket's handshake: 101 if it opened. */
function openSocket(url: string, headers: Record<string, string>): Promise<{ status: number; socket?: WebSocket }> {
  const socket = new WebSocket(url.replace("http", "ws").replace("localhost", "127.0.0.1"), { headers })
  return new Promise((resolve, reject) => {
    socket.once("open", () => resolve({ status: 101, socket }))
    socket.once("unexpected-response", (_request, response) => {
      response.resume()
      resolve({ status: response.statusCode ?? 0 })
    })
    socket.once("error", reject)
  })
}

async function socketStatus(path: string, as: string | undefined): Promise<number> {
  const { status, socket } = await openSocket(appsUrl + path, as === undefined ? {} : { authorization: as })
  socket?.terminate()
  return status
}

const runs = await Promise.all(
  scenarios
    .filter(({ type }) => type === "run")
    .map(async ({ title, createResource, relations, isDeleted, callers = Object.keys(relations) as PersonName[] }) => {
      return { title, resource: await createResource(server), hasEnded: isDeleted === true, relations, callers }
    }),
)
/** Whether this person may open a run in this state, by the table above. */
const mayOpen = ({ hasEnded, relations }: (typeof runs)[number], who: PersonName): boolean =>
  !hasEnded && openCells[(relationsByType.run as readonly string[]).indexOf(relations[who] ?? "")] === "ok"

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

for (const run of runs) {
  const { title, resource, relations, callers } = run
  test(`a run ${title} is opened with every method and by WebSocket by people with the right, and is 404 for all others`, async () => {
    await forEachConcurrently(callers, async (caller) => {
      const isAllowed = mayOpen(run, caller)
      const what = relations[caller]
      const as = people[caller].authorization
      for (const method of methods) {
        const [answer, missing] = await Promise.all(
          [resource.id, missingId].map((id) => sendRequest(appsUrl, method, `/run/${id}/echo`, { as })),
        )
        if (isAllowed) assert.equal(answer?.status, 200, `${caller} (${what}) ${method}: ${answer?.text}`)
        else
          assert.deepEqual([answer?.status, answer?.body.msg], [404, missing?.body.msg], `${caller} (${what}) ${method}: ${answer?.text}`)
      }
      assert.equal(await socketStatus(`/run/${resource.id}/any`, as), isAllowed ? 101 : 404, `${caller} (${what})`)
    })
  })

  test(`a run ${title} is opened by every credential with the right, by HTTP and by WebSocket`, async () => {
    await forEachConcurrently(callers, async (caller) => {
      const { authorization, password } = people[caller]
      const opened = mayOpen(run, caller) ? 200 : 404
      const credentials: Record<string, [as: string, status: number]> = {
        "a password": [basicAuth(caller, password), opened],
        "a token as a password": [basicAuth(caller, authorization.slice("Bearer ".length)), opened],
        "a token for this run": [await tokenOf(caller, [`run:${resource.id}`]), opened],
        "a token for another run": [await tokenOf(caller, [`run:${missingId}`]), 404],
        "a token that reads": [await tokenOf(caller, ["read"]), 404],
      }
      for (const [kind, [as, status]] of Object.entries(credentials)) {
        const where = `${caller} (${relations[caller]}) with ${kind}`
        assert.equal((await sendRequest(appsUrl, "GET", `/run/${resource.id}/echo`, { as })).status, status, where)
        assert.equal(await socketStatus(`/run/${resource.id}/any`, as), status === 200 ? 101 : status, `${where}, by WebSocket`)
      }
    })
  })
}

const live = runs.find(({ relations, hasEnded }) => relations.ann === "starter" && !hasEnded)
assert.ok(live)
const { id } = live.resource

test("a token opens only its own run, and only if its creator may open that run", async () => {
  const other = runs.find(({ relations, hasEnded }) => relations.bob === "starter" && !hasEnded)?.resource.id ?? 0
  const cases: [as: string, run: number, status: number][] = [
    [await tokenOf("ann", [`run:${id}`]), id, 200],
    [await tokenOf("ann", [`run:${id}`]), other, 404],
    [await tokenOf("ann", [`run:${other}`]), other, 404],
    [await tokenOf("ann", [`run:${other}`]), id, 404],
    [await tokenOf("bob", [`run:${id}`]), id, 404],
    [await tokenOf("boss", [`run:${id}`]), id, 404],
    [await tokenOf("ann", ["read"]), id, 404],
  ]
  for (const [as, run, status] of cases) {
    assert.equal((await sendRequest(appsUrl, "GET", `/run/${run}/`, { as })).status, status)
    assert.equal(await socketStatus(`/run/${run}/x`, as), status === 200 ? 101 : status)
  }
})

test("a run's path returns 401 without valid credentials, by HTTP and by WebSocket, with or without a run", async () => {
  const revoked = await people.ann.client.createToken({ body: { Name: "r" } })
  await people.ann.client.deleteToken({ query: { ID: revoked.ID } })
  const deletedPerson = await testServer.person("gone")
  await testServer.admin.deleteUser({ query: { ID: (await testServer.admin.readUser({ query: { UserName: "gone" } })).ID } })
  const disabledPerson = await testServer.person("out")
  const { ID } = await testServer.admin.readUser({ query: { UserName: "out" } })
  await testServer.admin.updateUser({ body: { ID, IsDisabled: true } })
  const expiring = await withSoonExpiring((ExpiresAt) => people.ann.client.createToken({ body: { Name: "e", ExpiresAt } }))
  await untilExpired(String(expiring.ExpiresAt))
  const forFiles = (await people.ann.client.createFilesToken()).Token
  const credentials = [
    disabledPerson.authorization,
    basicAuth("out", disabledPerson.password),
    bearerAuth(expiring.Token),
    undefined,
    basicAuth("ann", "wrong"),
    basicAuth("nobody", "x"),
    bearerAuth(revoked.Token),
    deletedPerson.authorization,
    bearerAuth(forFiles),
    "Digest x",
    bearerAuth(""),
  ]
  for (const as of credentials) {
    // Each password costs a hash, and wrong ones are throttled.
    const kinds = as?.startsWith("Basic") ? [id] : runs.map(({ resource }) => resource.id)
    for (const run of [...kinds, missingId]) {
      const answer = await sendRequest(appsUrl, "GET", `/run/${run}/`, { as })
      assert.equal(answer.status, 401, `${as}: ${answer.text}`)
      assert.match(String(answer.headers["www-authenticate"]), /^Bearer/)
      assert.equal(await socketStatus(`/run/${run}/x`, as), 401)
    }
  }
})

test("a run's path rejects a cross-site page, by HTTP and by WebSocket, with any credentials", async () => {
  const as = people.ann.authorization
  for (const headers of [
    { origin: "http://evil.example" },
    { origin: "null" },
    { origin: baseUrl },
    { "sec-fetch-site": "cross-site" },
  ] as Record<string, string>[]) {
    for (const method of methods) {
      assert.equal(
        (await sendRequest(appsUrl, method, `/run/${id}/echo`, { as, headers })).status,
        403,
        `${method} ${JSON.stringify(headers)}`,
      )
    }
    const { status } = await openSocket(`${appsUrl}/run/${id}/x`, { authorization: as, ...headers })
    assert.equal(status, 403)
  }
})

/** A browser with its cookies, which does not follow redirects by itself. */
class Browser {
  readonly #cookies = new Map<string, string>()

  async visit(address: string, headers: Record<string, string> = {}): Promise<HttpAnswer & { location: string }> {
    const { host, hostname, port, pathname, search } = new URL(address)
    const cookie = [...this.#cookies]
      .filter(([key]) => key.startsWith(`${hostname} `))
      .map(([key, value]) => `${key.split(" ")[1]}=${value}`)
      .join("; ")
    const outgoing = request({
      host: "127.0.0.1",
      port,
      path: pathname + search,
      agent: false,
      headers: { host, ...(cookie ? { cookie } : {}), ...headers },
    })
    outgoing.end()
    const [incoming] = await once(outgoing, "response")
    let text = ""
    for await (const chunk of incoming) text += chunk
    for (const set of (incoming.headers["set-cookie"] ?? []) as string[]) this.keep(hostname, set)
    return {
      status: incoming.statusCode,
      headers: incoming.headers,
      text,
      body: {},
      location: new URL(incoming.headers.location ?? "/", address).href,
    }
  }

  keep(hostname: string, set: string): void {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? []
    this.#cookies.set(`${hostname} ${name}`, value)
  }

  cookiesOf(address: string): string {
    const { hostname } = new URL(address)
    return [...this.#cookies]
      .filter(([key]) => key.startsWith(`${hostname} `))
      .map(([key, value]) => `${key.split(" ")[1]}=${value}`)
      .join("; ")
  }
}

const tab = { "sec-fetch-dest": "document", "sec-fetch-mode": "navigate", "sec-fetch-site": "none", accept: "text/html" }

async function signedIn(who: PersonName): Promise<Browser> {
  const { headers, text } = await sendRequest(baseUrl, "POST", "/session", { body: { UserName: who, Password: people[who].password } })
  const browser = new Browser()
  for (const set of headers["set-cookie"] ?? []) browser.keep("localhost", set)
  assert.ok(headers["set-cookie"], text)
  return browser
}

/** Follows all redirects like a tab: returns the addresses and the last response. */
async function follow(browser: Browser, address: string): Promise<{ addresses: string[]; last: HttpAnswer }> {
  const addresses = [address]
  for (;;) {
    const last = await browser.visit(addresses.at(-1) as string, tab)
    if (last.status !== 302 || addresses.length > 12) return { addresses, last }
    addresses.push(last.location)
  }
}

test("/open redirects a browser to a run, and reveals its URL, only if the person may open it", async () => {
  for (const { title, resource, relations, hasEnded, callers } of runs) {
    for (const caller of callers) {
      const what = relations[caller]
      const isAllowed = mayOpen({ relations, hasEnded: false } as (typeof runs)[number], caller)
      const browser = await signedIn(caller)
      const { addresses, last } = await follow(browser, `${baseUrl}/open?ID=${resource.id}`)
      const missing = await follow(browser, `${baseUrl}/open?ID=${missingId}`)
      assert.equal(last.status, isAllowed && !hasEnded ? 200 : 404, `${caller} (${what}) ${title}: ${addresses.join(" → ")}`)
      // People who may open the run see that it has ended; others get 404.
      if (isAllowed && hasEnded) assert.match(last.text, /This run (is over|failed)/, `${caller} (${what}) ${title}`)
      if (!isAllowed) assert.deepEqual([last.text, addresses.length], [missing.last.text, 1])
    }
  }
})

test("a run's own origin rejects sessions of other runs and every other kind of credentials", async () => {
  const ann = await signedIn("ann")
  const { addresses } = await follow(ann, `${baseUrl}/open?ID=${id}`)
  const origin = new URL(addresses.at(-1) as string).origin
  const bobsRunId = runs.find(({ relations, hasEnded }) => relations.bob === "starter" && !hasEnded)?.resource.id
  const bob = await signedIn("bob")
  const bobsOrigin = new URL((await follow(bob, `${baseUrl}/open?ID=${bobsRunId}`)).addresses.at(-1) as string).origin
  assert.notEqual(origin, bobsOrigin)
  const attempts: Record<string, string>[] = [
    {},
    { authorization: people.ann.authorization },
    { authorization: basicAuth("ann", people.ann.password) },
    { cookie: bob.cookiesOf(bobsOrigin) },
    { cookie: ann.cookiesOf(baseUrl) },
  ]
  for (const headers of attempts) {
    assert.equal((await new Browser().visit(`${origin}/echo`, headers)).status, 401, JSON.stringify(headers))
    const { host } = new URL(origin)
    assert.equal((await openSocket(`${appsUrl}/x`, { host, origin, ...headers })).status, 401)
  }
  const { host } = new URL(origin)
  const own = await openSocket(`${appsUrl}/x`, { host, origin, cookie: ann.cookiesOf(origin) })
  assert.equal(own.status, 101)
  own.socket?.terminate()
  assert.equal(
    (await openSocket(`${appsUrl}/x`, { host, origin: bobsOrigin, cookie: ann.cookiesOf(origin) })).status,
    403,
    "another run's page is elsewhere",
  )
})

/** An open connection, and a way to see that it ended. */
async function opened(who: PersonName, run: number, authorization: string): Promise<Promise<unknown>[]> {
  const { socket } = await openSocket(`${appsUrl}/run/${run}/x`, { authorization })
  assert.ok(socket, who)
  const streams = [
    [appsUrl, `/run/${run}/stream`],
    [baseUrl, `/running_project/logs?ID=${run}&follow=1`],
    [baseUrl, "/events"],
  ].map(([base, path]) => streamEnds(base as string, path as string, authorization))
  return [once(socket, "close", { signal: AbortSignal.timeout(20_000) }), ...(await Promise.all(streams)).map(({ end }) => end)]
}

/** `end` resolves when the connection has ended, for any reason. */
async function streamEnds(base: string, path: string, authorization: string): Promise<{ end: Promise<unknown> }> {
  const { port } = new URL(base)
  const outgoing = request({ host: "127.0.0.1", port, path, headers: { authorization }, agent: false })
  outgoing.end()
  const [incoming] = await once(outgoing, "response")
  assert.equal(incoming.statusCode, 200, path)
  incoming.resume().on("error", () => {})
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  incoming.once("close", resolve)
  AbortSignal.timeout(20_000).addEventListener("abort", () => reject(new Error(`${path} is still open`)))
  return { end: promise }
}

test("every way of withdrawing a grant closes the grantee's sockets, streams and followed logs, and nobody else's", async () => {
  const { bob, mia, gwen, guy, gil } = people
  const { createGrant, deleteGrant, createGroup, updateGroup, deleteGroup } = testServer.admin
  const own = await people.ann.client.createProject({ body: { ProjectName: "w", Type: "http", ImageID: server.imageId } })
  const run = await people.ann.client.startRun({ body: { ProjectID: own.ID } })
  const on = { RunID: run.ID, Access: "write" } as const
  const byName = await createGrant({ body: { ...on, UserName: "gwen" } })
  await createGrant({ body: { ...on, UserName: "guy" } })
  const crews = await Promise.all(
    ["bob", "mia"].map(async (name) => {
      const group = await createGroup({ body: { GroupName: `crew-of-${name}`, Members: [name] } })
      await createGrant({ body: { ...on, GroupName: group.GroupName } })
      return group.ID
    }),
  )
  const open = async (who: PersonName) => {
    const { socket } = await openSocket(`${appsUrl}/run/${run.ID}/x`, { authorization: people[who].authorization })
    assert.ok(socket, who)
    const streams = await Promise.all([
      streamEnds(appsUrl, `/run/${run.ID}/stream`, people[who].authorization),
      streamEnds(baseUrl, `/running_project/logs?ID=${run.ID}&follow=1`, people[who].authorization),
    ])
    return [once(socket, "close", { signal: AbortSignal.timeout(30_000) }), ...streams.map(({ end }) => end)]
  }
  const names = ["gwen", "guy", "bob", "mia", "gil"] as const
  const all = await Promise.all(names.slice(0, -1).map(open))
  const { socket: owners } = await openSocket(`${appsUrl}/run/${run.ID}/x`, { authorization: people.ann.authorization })
  assert.ok(owners)
  const until = async (Until: string) => {
    await createGrant({ body: { ...on, UserName: "gil", Until } })
    return open("gil")
  }
  all.push(await withSoonExpiring(until, 2_000))
  await deleteGrant({ query: { ID: byName.ID } })
  // A read-only credential opens no run.
  await createGrant({ body: { RunID: run.ID, UserName: "guy", Access: "read" } })
  await updateGroup({ body: { ID: crews[1] as number, Members: [] } })
  await deleteGroup({ query: { ID: crews[0] as number } })
  await Promise.all(all.map((group, i) => Promise.all(group).catch((cause) => assert.fail(`${names[i]}: ${cause}`))))
  for (const who of [bob, mia, gwen, guy, gil]) {
    assert.equal((await sendRequest(appsUrl, "GET", `/run/${run.ID}/echo`, { as: who.authorization })).status, 404, who.userName)
    const logs = await sendRequest(baseUrl, "GET", `/running_project/logs?ID=${run.ID}`, { as: who.authorization })
    assert.equal(logs.status, who === guy ? 403 : 404, who.userName)
  }
  assert.equal(owners.readyState, WebSocket.OPEN)
  owners.terminate()
})

test("open sockets, streams, followed logs and events end when the credentials end or the person is disabled", async () => {
  const ends: Record<string, (token: { ID: number }) => Promise<unknown>> = {
    "the token is revoked": ({ ID }) => people.mia.client.deleteToken({ query: { ID } }),
    "the person is disabled": async () => {
      const { ID } = await testServer.admin.readUser({ query: { UserName: "mia" } })
      await testServer.admin.updateUser({ body: { ID, IsDisabled: true } })
    },
  }
  const project = await people.mia.client.createProject({ body: { ProjectName: "m", Type: "http", ImageID: server.imageId } })
  const run = await people.mia.client.startRun({ body: { ProjectID: project.ID } })
  for (const [why, end] of Object.entries(ends)) {
    const token = await people.mia.client.createToken({ body: { Name: "open" } })
    const all = await opened("mia", run.ID, bearerAuth(token.Token))
    await end(token)
    await Promise.all(all).catch((cause) => assert.fail(`${why}: ${cause}`))
  }
})

test("signing out closes the browser's open connections", async () => {
  const browser = await signedIn("ann")
  const { addresses } = await follow(browser, `${baseUrl}/open?ID=${id}`)
  const { origin, host } = new URL(addresses.at(-1) as string)
  const { socket } = await openSocket(`${appsUrl}/x`, { host, origin, cookie: browser.cookiesOf(origin) })
  assert.ok(socket)
  const closed = once(socket, "close", { signal: AbortSignal.timeout(20_000) })
  await sendRequest(baseUrl, "DELETE", "/session", { headers: { cookie: browser.cookiesOf(baseUrl), "sec-fetch-site": "same-origin" } })
  await closed
  assert.equal((await browser.visit(`${origin}/echo`)).status, 401)
})

test("many simultaneous requests for another person's run are all rejected", async () => {
  await forEachConcurrently(
    Array.from({ length: 100 }, (_, i) => i),
    async (i) => {
      assert.equal(
        (await sendRequest(appsUrl, "GET", `/run/${i % 2 === 0 ? id : missingId}/`, { as: people.bob.authorization })).status,
        404,
      )
    },
  )
})

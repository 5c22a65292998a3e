import assert from "node:assert/strict"
import { after, test } from "node:test"
import { basicAuth, bearerAuth } from "#client"
import { startTestServer } from "../test-server.ts"
import { sendRequest } from "./http-client.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl, appsUrl, filesUrl } = server.quayside
const ann = await server.person("ann")
const bob = await server.person("bob")

/** The refusals in the audit after the service has stopped, as `actor action count`. */
async function written(): Promise<{ rows: string[]; text: string }> {
  await server.restart()
  const { data } = await server.admin.listAudit({ query: { pageSize: 200 } })
  const counts = new Map<string, number>()
  for (const { Actor, Action, Outcome, Count, Address } of data ?? []) {
    if (Outcome !== "refused") continue
    assert.match(Address, /^(::1|127\.0\.0\.1)$/)
    counts.set(`${Actor} ${Action}`, (counts.get(`${Actor} ${Action}`) ?? 0) + Count)
  }
  return { rows: [...counts].map(([name, count]) => `${name} ${count}`).sort(), text: JSON.stringify(data) }
}

test("the audit has refusals of every address, but neither secrets nor unknown names", async () => {
  const { ID } = await ann.client.createImage({ body: { Name: "a", Image: "sample" } })
  const project = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: ID } })
  const run = await ann.client.startRun({ body: { ProjectID: project.ID } })
  const secret = ann.authorization.slice("Bearer ".length)
  const status = async (url: string, path: string, as?: string, method = "GET") =>
    (await sendRequest(url, method, path, as ? { as } : {})).status
  const wrongPassword = [
    basicAuth("ann", "a wrong password"),
    basicAuth(`${secret}x`, ""),
    basicAuth(`${secret}x`, "a"),
    bearerAuth(`${secret}x`),
  ]
  for (const as of wrongPassword) {
    assert.equal(await status(appsUrl, `/run/${run.ID}/`, as), 401)
    assert.equal(await status(filesUrl, "/users/ann/", as), 401)
    assert.equal(await status(baseUrl, "/whoami", as), 401)
  }
  const read = await bob.client.createToken({ body: { Name: "r", Scopes: ["read"] } })
  assert.equal(await status(appsUrl, `/run/${run.ID}/`, bob.authorization), 404)
  assert.equal(await status(filesUrl, "/users/ann/", bob.authorization), 404)
  assert.equal(await status(filesUrl, "/users/bob/x", bearerAuth(read.Token), "MKCOL"), 403)
  const signedIn = await sendRequest(baseUrl, "POST", "/session", { body: { UserName: "bob", Password: bob.password } })
  const cookie = String(signedIn.headers["set-cookie"]).split(";")[0] as string
  assert.equal((await sendRequest(baseUrl, "GET", `/open?ID=${run.ID}`, { headers: { cookie } })).status, 404)
  const runs = await bob.client.createToken({ body: { Name: "r", Scopes: [`run:${run.ID}`] } })
  assert.equal(await status(baseUrl, "/whoami", bearerAuth(runs.Token)), 403)
  assert.equal(await status(filesUrl, "/users/bob/", bearerAuth(runs.Token), "PROPFIND"), 403)
  const elsewhere = { origin: "https://elsewhere.example" }
  assert.equal(
    (await sendRequest(baseUrl, "POST", "/token", { as: bob.authorization, headers: elsewhere, body: { Name: "x" } })).status,
    403,
  )
  const { rows, text } = await written()
  assert.deepEqual(rows, [
    "- openRun 4",
    "- readFiles 4",
    "- whoami 4",
    "bob createToken 1",
    "bob openRun 2",
    "bob readFiles 2",
    "bob whoami 1",
    "bob writeFiles 1",
  ])
  for (const hidden of [secret, "a wrong password", read.Token]) assert.ok(!text.includes(hidden), hidden)
})

import assert from "node:assert/strict"
import { once } from "node:events"
import { request } from "node:http"
import { after, test } from "node:test"
import { type Endpoint, endpoints, operationIds } from "#contract"
import { type HttpAnswer, ids, sendRequest } from "../api/http-client.ts"
import { startPopulatedServer } from "./populated-server.ts"
import { summarize } from "./requests.ts"

/** A text in all of ann's private objects, which no response to others may contain. */
const canary = "kanarienvogel"

const server = await startPopulatedServer({ "mock-gpus": "2" })
after(() => server[Symbol.asyncDispose]())
const { server: testServer, people } = server
const { baseUrl, filesUrl, appsUrl } = testServer.quayside
const { ann, bob } = people
const asBob = (method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<HttpAnswer> =>
  sendRequest(baseUrl, method, path, { as: bob.authorization, body, headers })

const image = await ann.client.createImage({
  body: {
    Name: `${canary} i`,
    Image: `fake/http:${canary}`,
    Comment: canary,
    Command: `run ${canary}`,
    Env: `SECRET=${canary}`,
    Doc: canary,
  },
})
const data = await ann.client.createData({
  body: { Name: `${canary} d`, Comment: canary, Doc: canary, AccessInfo: `/users/ann/${canary}` },
})
const hiddenProject = await ann.client.createProject({
  body: { ProjectName: canary, Type: "http", ImageID: image.ID, Comment: canary, Doc: canary },
})
/** A visible object whose parts are ann's alone. */
const shown = await ann.client.createProject({
  body: { ProjectName: "shown", Type: "http", ImageID: image.ID, TrainData: [{ ID: data.ID, MountPath: "/data/x" }], IsPublic: true },
})
const usable = await ann.client.createProject({ body: { ProjectName: "usable", Type: "http", ImageID: server.imageId, IsPublic: true } })

async function events(authorization: string): Promise<{ text: () => string; until: (word: string) => Promise<void>; end: () => void }> {
  const { port } = new URL(baseUrl)
  const outgoing = request({ host: "127.0.0.1", port, path: "/events", headers: { authorization }, agent: false })
  outgoing.end()
  const [incoming] = await once(outgoing, "response")
  let seen = ""
  incoming.setEncoding("utf8").on("data", (chunk: string) => (seen += chunk))
  incoming.on("error", () => {})
  const until = async (word: string) => {
    const signal = AbortSignal.timeout(20_000)
    while (!seen.includes(word)) await once(incoming, "data", { signal })
  }
  return { text: () => seen, until, end: () => outgoing.destroy() }
}

test("no read, list, search, start, copy or event reveals private texts to another person", async () => {
  const stream = await events(bob.authorization)
  const run = await ann.client.startRun({ body: { ProjectID: hiddenProject.ID } })
  await sendRequest(appsUrl, "GET", `/run/${run.ID}/log/${canary}`, { as: ann.authorization })
  const words = [
    `q=${canary}`,
    `Name=${canary} i`,
    `ProjectName=${canary}`,
    `Comment=${canary}`,
    "UserName=ann",
    `ID=${image.ID}`,
    `ID=${shown.ID}`,
    `ID=${run.ID}`,
    `ImageID=${image.ID}`,
    `ProjectID=${hiddenProject.ID}`,
    "State=ready",
    "Deleted=1",
    "sort=Name",
    "",
  ]
  const answers: HttpAnswer[] = []
  for (const operation of operationIds) {
    const { method, path }: Endpoint = endpoints[operation]
    if (method !== "GET" || path === "/events") continue
    for (const word of words) answers.push(await asBob("GET", word === "" ? path : `${path}?${encodeURI(word)}`))
  }
  answers.push(
    await asBob("POST", "/running_project", { ProjectID: shown.ID }),
    await asBob("POST", "/preview", { ProjectID: shown.ID }),
    await asBob("POST", `/project/copy?ID=${shown.ID}`),
    await asBob("GET", "/running_projects?State=ended"),
    await asBob("PUT", "/image", { ID: image.ID, Name: 5 }),
    await asBob("POST", "/project", { ProjectName: "p", Type: "http", ImageID: image.ID, TrainData: [{ ID: data.ID }] }),
    await asBob("POST", "/data", { Name: "d", AccessInfo: data.AccessInfo }),
    await sendRequest(baseUrl, "GET", "/metrics"),
    await sendRequest(filesUrl, "PROPFIND", "/", { as: bob.authorization, headers: { depth: "infinity" } }),
    await sendRequest(filesUrl, "PROPFIND", "/users/ann/", { as: bob.authorization, headers: { depth: "1" } }),
  )
  for (const { text, status } of answers) {
    // A response may repeat the request.
    const news = text.replaceAll(/got "[^"]*"|got \\"[^"]*\\"|"\/users\/ann\/[^"]*"/g, "")
    assert.ok(!news.includes(canary), `${status} ${text.slice(0, 2_000)}`)
  }
  await ann.client.updateImage({ body: { ID: image.ID, Comment: `${canary} again` } })
  await ann.client.stopRun({ query: { ID: run.ID } })
  await ann.client.updateProject({ body: { ID: usable.ID, Comment: "the end of it" } })
  await stream.until("project.updated")
  stream.end()
  assert.ok(!stream.text().includes(canary), stream.text())
})

test("a hidden part appears as its ID alone in every read, list, copy and start", async () => {
  const parts = (project: Record<string, unknown>) => [project.Image, (project.TrainData as { Data: object }[])[0]?.Data]
  const hidden = [{ ID: image.ID }, { ID: data.ID }]
  const read = (await asBob("GET", `/project?ID=${shown.ID}`)).body
  const listed = ((await asBob("GET", `/projects?ID=${shown.ID}`)).body.data as unknown as object[])[0]
  const copied = (await asBob("POST", `/project/copy?ID=${shown.ID}`)).body
  const failed = (await asBob("POST", "/running_project", { ProjectID: shown.ID })).body
  const history = (await asBob("GET", `/running_project?ID=${failed.ID}`)).body.Project
  for (const project of [read, listed, copied, history]) assert.deepEqual(parts(project as never), hidden)
  assert.equal(String(failed.code), "image_unavailable")
})

test("hidden matches cause no conflict, and a visible match among them is found", async () => {
  const twins = ["one", "two"].map(() => ann.client.createImage({ body: { Name: "twin", Image: "fake/http" } }))
  await Promise.all(twins)
  const [none, never] = [await asBob("GET", "/image?Name=twin"), await asBob("GET", "/image?Name=never")]
  assert.deepEqual([none.status, none.body.msg], [404, never.body.msg])
  const own = await bob.client.createImage({ body: { Name: "twin", Image: "fake/http" } })
  assert.equal(Number((await asBob("GET", "/image?Name=twin")).body.ID), own.ID)
  assert.equal((await asBob("GET", "/image?Name=twin&UserName=ann")).status, 404)
})

test("`Running` shows only the caller's own run", async () => {
  const run = await ann.client.startRun({ body: { ProjectID: usable.ID } })
  const running = async (as: string) => String((await sendRequest(baseUrl, "GET", `/project?ID=${usable.ID}`, { as })).body.Running)
  assert.deepEqual(
    [await running(ann.authorization), await running(bob.authorization), await running(people.boss.authorization)],
    ["true", "false", "false"],
  )
  assert.equal((await asBob("GET", `/project?ID=${usable.ID}&Running=true`)).status, 404)
  assert.deepEqual(ids(await asBob("GET", `/running_projects?ProjectID=${usable.ID}`)), [])
  await ann.client.stopRun({ query: { ID: run.ID } })
})

test("an Idempotency-Key belongs to one person and reveals nothing to another who sends it", async () => {
  const headers = { "idempotency-key": "the-same" }
  const start = (as: string, body: object) => sendRequest(baseUrl, "POST", "/running_project", { as, body, headers })
  const first = await start(ann.authorization, { ProjectID: usable.ID })
  const second = await start(bob.authorization, { ProjectID: usable.ID, Cpus: 2 })
  assert.deepEqual([first.status, second.status], [200, 200], second.text)
  assert.notEqual(Number(first.body.ID), Number(second.body.ID))
  assert.deepEqual([String(first.body.UserName), String(second.body.UserName)], ["ann", "bob"])
  for (const [who, { body }] of [
    [ann, first],
    [bob, second],
  ] as const)
    await who.client.stopRun({ query: { ID: Number(body.ID) } })
})

test("only the user of a device and administrators see who uses it", async () => {
  const run = await ann.client.startRun({ body: { ProjectID: usable.ID, Gpus: 1 } })
  const holders = async (as: string) => {
    const { nodes } = (await sendRequest(baseUrl, "GET", "/capacity", { as })).body as unknown as {
      nodes: { Devices: { RunID: number | null }[] }[]
    }
    return nodes.flatMap(({ Devices }) => Devices.map(({ RunID }) => RunID)).sort()
  }
  assert.deepEqual(await holders(ann.authorization), [run.ID, null].sort())
  assert.deepEqual(await holders(people.boss.authorization), [run.ID, null].sort())
  assert.deepEqual(await holders(bob.authorization), [null, null])
  await ann.client.stopRun({ query: { ID: run.ID } })
})

test("hidden people, groups and directories are refused in the same words as missing ones", async () => {
  const alike: [one: HttpAnswer, other: HttpAnswer, status: number][] = [
    [
      await asBob("POST", "/image", { Name: "x", Image: "i", UserName: "ann" }),
      await asBob("POST", "/image", { Name: "x", Image: "i", UserName: "never" }),
      403,
    ],
    [
      await asBob("POST", "/project", { ProjectName: "x", Type: "http", ImageID: server.imageId, GroupName: "lab" }),
      await asBob("POST", "/project", { ProjectName: "x", Type: "http", ImageID: server.imageId, GroupName: "bal" }),
      400,
    ],
    [
      await asBob("POST", "/data", { Name: "x", AccessInfo: `/users/ann/${canary}` }),
      await asBob("POST", "/data", { Name: "x", AccessInfo: "/users/ann/kanarienvogal" }),
      400,
    ],
    [await asBob("GET", "/user?UserName=ann"), await asBob("GET", "/user?UserName=never"), 404],
    [await asBob("GET", "/group?GroupName=lab"), await asBob("GET", "/group?GroupName=bal"), 404],
    [await asBob("GET", "/images?UserName=mia"), await asBob("GET", "/images?UserName=never"), 200],
    [
      await asBob("POST", "/token", { Name: "x", Scopes: ["run:1"] }),
      await asBob("POST", "/token", { Name: "x", Scopes: ["run:987654"] }),
      200,
    ],
  ]
  for (const [one, other, status] of alike) {
    assert.equal(one.status, status, one.text)
    if (status === 200) assert.equal(other.status, status)
    else assert.equal(summarize(one, { id: 0 }).replaceAll(/lab|ogel/g, ""), summarize(other, { id: 0 }).replaceAll(/bal|ogal/g, ""))
  }
})

test("no read by the project's or the image's owner reveals a hidden run", async () => {
  const run = await bob.client.startRun({ body: { ProjectID: usable.ID, Cpus: 1, Memory: 64 } })
  const outline = (await sendRequest(baseUrl, "GET", `/running_project?ID=${run.ID}`, { as: ann.authorization })).body as unknown as Record<
    string,
    unknown
  >
  const { ID, Project, ProjectID, UserName, State, StartTime, ...rest } = outline
  assert.deepEqual([ID, ProjectID, UserName, State], [run.ID, usable.ID, "bob", "ready"])
  assert.ok(Project && StartTime)
  for (const [name, value] of Object.entries(rest)) {
    const isEmpty = value === "" || value === 0 || value === null || (Array.isArray(value) && value.length === 0)
    assert.ok(isEmpty, `${name} is ${JSON.stringify(value)}`)
  }
  const { ReadyTime } = (await asBob("GET", `/running_project?ID=${run.ID}`)).body
  for (const field of ["Cpus=1", "Memory=64", "Nodes=1", `ReadyTime=${ReadyTime}`, "GpuMemory=0&Gpus=0&Cpus=1"]) {
    assert.equal((await asBob("GET", `/running_project?State=ready&${field}`)).status, 200, field)
    const { status } = await sendRequest(baseUrl, "GET", `/running_project?ProjectID=${usable.ID}&UserName=bob&State=ready&${field}`, {
      as: ann.authorization,
    })
    assert.equal(status, 404, `${field} cannot be learned by asking for it`)
  }
  await bob.client.stopRun({ query: { ID: run.ID } })
})

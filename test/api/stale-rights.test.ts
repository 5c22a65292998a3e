import assert from "node:assert/strict"
import { once } from "node:events"
import { request } from "node:http"
import { after, test } from "node:test"
import type { RunningProject, User } from "#contract"
import { eventually } from "../fixtures/eventually.ts"
import { type Person, startTestServer } from "../test-server.ts"
import { imageEnvOf, type Mounted, mountsOf } from "./run-mounts.ts"

/*
 * A right ends between the request for a start and the mounts: while the run is queued, and while
 * its image is pulled. The mounts then follow the present rights. At the end, a right ends between
 * the head and the body of a request.
 */

const server = await startTestServer({ "mock-gpus": "1", "memory-overcommit": "100", "cpu-overcommit": "100" })
after(() => server[Symbol.asyncDispose]())
const { admin } = server
const [ann, bob, eve] = [await server.person("ann"), await server.person("bob"), await server.person("eve")]
await server.acquaint(ann, bob, eve)

interface Case {
  starter: Person
  project: number
  /** Removes or reduces a right. */
  withdraw(): Promise<unknown>
}

interface Kind {
  says: string
  make(image: string): Promise<Case>
  /** The object that the reason names; absent if the run continues with fewer mounts. */
  names?: RegExp
  /** The expected mounts of a run that continues. */
  holds?: (mounts: readonly Mounted[]) => void
  /** Whether a queued run continues. */
  goesOnQueued?: true
}

let count = 0
const fresh = (word: string) => {
  count += 1
  return `${word}-${count}`
}
/** An image that was never pulled. */
const slowly = () => `fake/slow-pull:${5_000 + Number(fresh("").slice(1))}`
const newImage = async (who: Person, Image: string, fields: object = {}) =>
  (await who.client.createImage({ body: { Name: fresh("image"), Image, ...fields } })).ID
const newProject = async (who: Person, ImageID: number, fields: object = {}) =>
  (await who.client.createProject({ body: { ProjectName: fresh("project"), Type: "http", ImageID, ...fields } })).ID
const newData = async (who: Person, fields: object = {}) => who.client.createData({ body: { Name: fresh("data"), ...fields } })
const grant = async (who: Person, body: object, to: Person = bob) =>
  (await who.client.createGrant({ body: { UserName: to.userName, Access: "use", ...body } })).ID
const takeBack = (who: Person, ID: number) => who.client.deleteGrant({ query: { ID } })

/** Bob's project with a published image and a dataset of ann's. */
async function bobs(image: string, data: number): Promise<{ starter: Person; project: number }> {
  const project = await newProject(bob, await newImage(bob, image), { TrainData: [{ ID: data, MountPath: "/in" }] })
  return { starter: bob, project }
}

/** A published project of ann's, which bob starts. */
async function anns(image: string, fields: object = {}) {
  const imageId = await newImage(ann, image, { IsPublished: true })
  return { imageId, starter: bob, project: await newProject(ann, imageId, { IsPublic: true, ...fields }) }
}

const kinds: Kind[] = [
  {
    says: "an image that is published no more",
    names: /The project's image is not shared with bob, or was deleted: ask ann, the project's owner/,
    async make(image) {
      const setup = await anns(image)
      return { ...setup, withdraw: () => ann.client.updateImage({ body: { ID: setup.imageId, IsPublished: false } }) }
    },
  },
  {
    says: "an image that is deleted",
    names: /image \d+ "image-\d+" was deleted/,
    async make(image) {
      const setup = await anns(image)
      return { ...setup, withdraw: () => ann.client.deleteImage({ query: { ID: setup.imageId } }) }
    },
  },
  {
    says: "a project that is public no more",
    names: /project \d+ was deleted, or bob may not start it/,
    async make(image) {
      const setup = await anns(image)
      return { ...setup, withdraw: () => ann.client.updateProject({ body: { ID: setup.project, IsPublic: false } }) }
    },
  },
  {
    says: "a project that is deleted",
    names: /project \d+ was deleted/,
    async make(image) {
      const setup = await anns(image)
      return { ...setup, withdraw: () => ann.client.deleteProject({ query: { ID: setup.project } }) }
    },
  },
  {
    says: "a project that was granted",
    names: /project \d+ was deleted, or bob may not start it/,
    async make(image) {
      const setup = await anns(image, { IsPublic: false })
      const ID = await grant(ann, { ProjectID: setup.project })
      return { ...setup, withdraw: () => takeBack(ann, ID) }
    },
  },
  {
    says: "a project of a group that its starter leaves",
    names: /project \d+ was deleted, or bob may not start it/,
    async make(image) {
      const GroupName = fresh("crew")
      const group = await admin.createGroup({ body: { GroupName, Members: ["ann", "bob"] } })
      const setup = await anns(image, { IsPublic: false, GroupName })
      return { ...setup, withdraw: () => admin.updateGroup({ body: { ID: group.ID, Members: ["ann"] } }) }
    },
  },
  {
    says: "a home, in what somebody else changed",
    names: /home of ann, which it may not have: bob changed what the image runs/,
    async make(image) {
      const imageId = await newImage(ann, image)
      await grant(ann, { ImageID: imageId, Access: "write" })
      const project = await newProject(ann, imageId)
      return { starter: ann, project, withdraw: () => bob.client.updateImage({ body: { ID: imageId, Env: "PATH=/evil" } }) }
    },
  },
  {
    says: "a home, in a project of which the trust ended",
    names: /home of bob, which it may not have: the project is ann's, and no administrator trusts it/,
    async make(image) {
      const setup = await anns(image)
      await admin.updateImage({ body: { ID: setup.imageId, IsTrusted: true } })
      await admin.updateProject({ body: { ID: setup.project, IsTrusted: true } })
      return { ...setup, withdraw: () => ann.client.releaseProject({ query: { ID: setup.project } }) }
    },
  },
  {
    says: "a dataset that was granted",
    names: /A dataset mounted at \/in was deleted or moved, or is no longer shared with bob, whose project this is/,
    async make(image) {
      const data = await newData(ann)
      const ID = await grant(ann, { DataID: data.ID, Access: "write" })
      return { ...(await bobs(image, data.ID)), withdraw: () => takeBack(ann, ID) }
    },
  },
  {
    says: "a dataset of which the grant's time is over",
    names: /A dataset mounted at \/in was deleted or moved, or is no longer shared with bob, whose project this is/,
    async make(image) {
      const data = await newData(ann)
      await grant(ann, { DataID: data.ID })
      const setup = await bobs(image, data.ID)
      const Until = () => new Date(Date.now() + 300).toISOString()
      return { ...setup, withdraw: () => grant(ann, { DataID: data.ID, Until: Until() }) }
    },
  },
  {
    says: "a dataset that is published no more",
    names: /A dataset mounted at \/in was deleted or moved, or is no longer shared with bob, whose project this is/,
    async make(image) {
      const data = await newData(ann, { IsPublished: true })
      const withdraw = () => ann.client.updateData({ body: { ID: data.ID, IsPublished: false } })
      return { ...(await bobs(image, data.ID)), withdraw }
    },
  },
  {
    says: "a dataset that is deleted",
    names: /dataset \d+ "data-\d+" at \/in was deleted/,
    async make(image) {
      const data = await newData(ann, { IsPublished: true })
      return { ...(await bobs(image, data.ID)), withdraw: () => ann.client.deleteData({ query: { ID: data.ID } }) }
    },
  },
  {
    says: "a dataset that the project's owner may read no more",
    names: /dataset \d+ "data-\d+" at \/in may not be read by eve, whose project this is/,
    async make(image) {
      const data = await newData(ann)
      await grant(ann, { DataID: data.ID })
      const ID = await grant(ann, { DataID: data.ID }, eve)
      const imageId = await newImage(eve, image, { IsPublished: true })
      const project = await newProject(eve, imageId, { IsPublic: true, TrainData: [{ ID: data.ID, MountPath: "/in" }] })
      return { starter: bob, project, withdraw: () => takeBack(ann, ID) }
    },
  },
  {
    says: "a person who is disabled",
    names: /disabled or deleted/,
    async make(image) {
      const tom = await server.person(fresh("tom"))
      const { ID } = await admin.readUser({ query: { UserName: tom.userName } })
      const setup = await anns(image)
      return { ...setup, starter: tom, withdraw: () => admin.updateUser({ body: { ID, IsDisabled: true } }) }
    },
  },
  {
    says: "a dataset that may only be read by now",
    holds: (mounts) => assert.equal(mounts.find(({ target }) => target === "/in")?.readOnly, true),
    async make(image) {
      const data = await newData(ann)
      await grant(ann, { DataID: data.ID, Access: "write" })
      return { ...(await bobs(image, data.ID)), withdraw: () => grant(ann, { DataID: data.ID, Access: "read" }) }
    },
  },
  {
    says: "a directory that is another dataset's by now",
    names: /dataset mounted at \/in was deleted or moved/,
    goesOnQueued: true,
    holds: (mounts) => assert.match(String(mounts.find(({ target }) => target === "/in")?.source), /^\/users\/ann\/elsewhere/),
    async make(image) {
      const data = await newData(ann, { IsPublished: true })
      const setup = await bobs(image, data.ID)
      const withdraw = async () => {
        await ann.client.updateData({ body: { ID: data.ID, AccessInfo: `/users/ann/${fresh("elsewhere")}` } })
        await newData(ann, { AccessInfo: data.AccessInfo })
      }
      return { ...setup, withdraw }
    },
  },
]

const start = async ({ starter, project }: Case, fields: object = {}) =>
  (await starter.client.startRun({ body: { ProjectID: project, ...fields }, headers: { prefer: "respond-async" } })) as RunningProject
const read = (ID: number) => admin.readRun({ query: { ID } })

async function until(ID: number, ...states: string[]): Promise<RunningProject> {
  let run = await read(ID)
  await eventually(
    `run ${ID} is ${states}`,
    async () => {
      run = await read(ID)
      return states.includes(run.State)
    },
    60_000,
  )
  return run
}

async function endsNaming(ID: number, names: RegExp): Promise<void> {
  const run = await until(ID, "ended", "failed", "ready")
  assert.deepEqual([run.State, run.Reason?.code], ["ended", "access_withdrawn"], JSON.stringify(run.Reason))
  assert.match(String(run.Reason?.msg), names)
}

test("a queued run ends at once when it loses a right, and is planned again when it leaves the queue", {
  concurrency: true,
}, async (t) => {
  const holder = await start({ ...(await anns("fake/http")), withdraw: async () => {} }, { Gpus: 1 })
  await until(holder.ID, "ready")
  const goesOn: { ID: number; holds: NonNullable<Kind["holds"]> }[] = []
  await Promise.all(
    kinds.map(({ says, make, names, holds, goesOnQueued }) =>
      t.test(says, async () => {
        const testCase = await make("fake/http")
        const run = await start(testCase, { Gpus: 1 })
        assert.equal(run.State, "queued")
        await testCase.withdraw()
        if (names && !goesOnQueued) await endsNaming(run.ID, names)
        else if (holds) goesOn.push({ ID: run.ID, holds })
      }),
    ),
  )
  assert.equal((await read(holder.ID)).State, "ready", "no capacity came free")
  await admin.stopRun({ query: { ID: holder.ID } })
  // They become ready one after the other, in the order in which they were asked for.
  for (const { ID, holds } of goesOn.toSorted((a, b) => a.ID - b.ID)) {
    await until(ID, "ready")
    holds(await mountsOf(server, ID))
    await admin.stopRun({ query: { ID } })
  }
})

test("a right lost during the pull ends the start, and a dataset reduced to reading is mounted read-only", {
  concurrency: true,
}, async (t) => {
  await Promise.all(
    kinds.map(({ says, make, names, holds }) =>
      t.test(says, async () => {
        const testCase = await make(slowly())
        const run = await start(testCase)
        await until(run.ID, "pulling")
        await testCase.withdraw()
        assert.notEqual((await read(run.ID)).State, "ready", "it was withdrawn in time")
        if (names) return endsNaming(run.ID, names)
        assert.equal((await until(run.ID, "ready", "failed", "ended")).State, "ready")
        holds?.(await mountsOf(server, run.ID))
      }),
    ),
  )
})

test("a process that resumes a start does not mount what the starter may no longer use", async () => {
  const data = await newData(ann)
  const ID = await grant(ann, { DataID: data.ID, Access: "write" })
  const run = await start({ ...(await bobs("fake/stuck-pull", data.ID)), withdraw: async () => {} })
  await until(run.ID, "pulling")
  await takeBack(ann, ID)
  await server.restart()
  await endsNaming(run.ID, /dataset/)
})

test("a repeated run that waited starts unchanged or not at all", async () => {
  const data = await newData(ann)
  const ID = await grant(ann, { DataID: data.ID })
  const setup = { ...(await bobs("fake/http", data.ID)), withdraw: async () => {} }
  const first = await start(setup, { Gpus: 1 })
  await until(first.ID, "ready")
  await admin.stopRun({ query: { ID: first.ID } })
  const holder = await start({ ...(await anns("fake/http")), withdraw: async () => {} }, { Gpus: 1 })
  await until(holder.ID, "ready")
  const repeat = async () =>
    (await bob.client.repeatRun({ query: { ID: first.ID }, headers: { prefer: "respond-async" } })) as RunningProject
  const remaining = await repeat()
  assert.equal(remaining.State, "queued")
  await bob.client.updateProject({ body: { ID: setup.project, TrainData: [], CodePath: "/elsewhere" } })
  await admin.stopRun({ query: { ID: holder.ID } })
  await until(remaining.ID, "ready")
  const targets = (await mountsOf(server, remaining.ID)).map(({ target }) => target)
  assert.ok(targets.includes("/in") && !targets.includes("/elsewhere"), String(targets))
  await admin.stopRun({ query: { ID: remaining.ID } })
  const repeated = await start({ ...(await anns("fake/http")), withdraw: async () => {} }, { Gpus: 1 })
  await until(repeated.ID, "ready")
  const waiting = await repeat()
  await takeBack(ann, ID)
  await endsNaming(waiting.ID, /dataset/)
})

test("a refused run, repeated with the right to its image, has nothing that the image's owner removed before", async () => {
  const image = await newImage(ann, "fake/http", { Env: "SECRET=old" })
  const project = await newProject(ann, image, { IsPublic: true })
  const refused = await bob.client.startRun({ body: { ProjectID: project } }).catch((error: { body?: unknown }) => error)
  assert.match(JSON.stringify(refused), /image_unavailable/)
  const { data: history } = await bob.client.listRuns({ query: { ProjectID: project, State: "ended" } })
  const { ID } = history[0] as RunningProject
  assert.deepEqual(await imageEnvOf(server, ID), {})
  await ann.client.updateImage({ body: { ID: image, Env: "CLEAN=1", IsPublished: true } })
  const repeated = (await bob.client.repeatRun({ query: { ID } })) as RunningProject
  assert.deepEqual(await imageEnvOf(server, repeated.ID), { CLEAN: "1" })
  await bob.client.stopRun({ query: { ID: repeated.ID } })
})

/** The status of a POST whose body is sent after `meanwhile`. */
async function postSlowly(path: string, { as, body }: { as: Person; body: object }, meanwhile: () => Promise<unknown>): Promise<number> {
  const { port } = new URL(server.quayside.baseUrl)
  const text = JSON.stringify(body)
  const headers = {
    authorization: as.authorization,
    "content-type": "application/json",
    "content-length": text.length,
    expect: "100-continue",
  }
  await as.client.whoami({})
  const outgoing = request({ host: "127.0.0.1", port, method: "POST", path, headers, agent: false })
  const answered = once(outgoing, "response")
  outgoing.flushHeaders()
  await once(outgoing, "continue")
  await meanwhile()
  outgoing.end(text)
  const [incoming] = await answered
  incoming.resume()
  return incoming.statusCode
}

test("a body that arrives after its sender lost the right, or their token, changes nothing", async () => {
  const chief = await server.person("chief", { IsAdmin: true })
  const fields = (UserName: string) => ({ as: chief, body: { UserName, Password: "a password of theirs", IsAdmin: true } })
  assert.equal(await postSlowly("/user", fields("first"), async () => {}), 200)
  const { ID } = (await find("chief")) as User
  const demote = () => admin.updateUser({ body: { ID, IsAdmin: false } })
  assert.equal(await postSlowly("/user", fields("second"), demote), 403)
  const [token] = (await chief.client.listTokens({})).data
  const end = () => chief.client.deleteToken({ query: { ID: token?.ID as number } })
  const image = { as: chief, body: { Name: "late", Image: "fake/ready" } }
  assert.equal(await postSlowly("/image", image, end), 401)
  assert.deepEqual([await find("second"), (await admin.listImages({ query: { Name: "late" } })).data], [undefined, []])
})

async function find(UserName: string): Promise<User | undefined> {
  return (await admin.listUsers({ query: { UserName } })).data[0]
}

test("an output that is read slowly ends when the right to it does", async () => {
  const run = await ann.client.startRun({ body: { ProjectID: await newProject(ann, await newImage(ann, "fake/ready")) } })
  const text = "x".repeat(7_900)
  for (let i = 0; i < 50; i += 1) {
    const lines = Array.from({ length: 20 }, () =>
      fetch(`${run.URL}log/${text}`, { headers: { authorization: ann.authorization } }).then((answer) => answer.text()),
    )
    await Promise.all(lines)
  }
  const granted = await grant(ann, { RunID: run.ID, Access: "write" })
  const { port } = new URL(server.quayside.baseUrl)
  const path = `/running_project/logs?ID=${run.ID}`
  const asked = request({ host: "127.0.0.1", port, path, headers: { authorization: bob.authorization }, agent: false }).end()
  const [answer] = await once(asked, "response")
  answer.on("error", () => {})
  assert.equal(answer.statusCode, 200)
  await takeBack(ann, granted)
  await new Promise((resolve) => setTimeout(resolve, 5_000))
  answer.resume()
  await new Promise((resolve) => answer.once("close", resolve))
  assert.equal(answer.complete, false)
})

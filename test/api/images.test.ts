import assert from "node:assert/strict"
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { basicAuth } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { adminPassword, type Person, startTestServer } from "../test-server.ts"
import { recordEvents } from "./event-recorder.ts"
import { type AnyObject, type SendOptions, sendRequest } from "./http-client.ts"
import { imageDigestsOf } from "./run-mounts.ts"

const folder = await mkdtemp(join(tmpdir(), "quayside-images-"))
const file = join(folder, "credentials.json")
const entry = { registry: "docker.io", path: "fake/private", username: "robot", password: "robot-password", for: ["group:lab"] }
await writeFile(file, JSON.stringify([entry]), { mode: 0o600 })
const server = await startTestServer({ "registry-credentials": file, registries: "public,registry.lan:5000" })
after(async () => {
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})
const { baseUrl } = server.quayside
const admin = basicAuth("admin", adminPassword)
const ann = await server.person("ann")
const bob = await server.person("bob")
await server.admin.createGroup({ body: { GroupName: "lab", Members: ["ann"] } })
const call = (method: string, path: string, options: SendOptions = {}) =>
  sendRequest(baseUrl, method, path, { as: ann.authorization, ...options })
const register = ({ client }: Pick<Person, "client">, reference: string) =>
  client.createImage({ body: { Name: "i", Image: reference, IsPublished: true } })

/** Starts and stops a project with this image, and returns the start's response. */
async function tried(person: Person, ImageID: number) {
  const project = await person.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID } })
  const answer = await call("POST", "/running_project", { as: person.authorization, body: { ProjectID: project.ID } })
  await call("DELETE", `/running_project?ProjectID=${project.ID}`, { as: person.authorization })
  return answer
}

test("a check reports whether the engine has an image, and a pull fetches it", async () => {
  const { ID } = await register(ann, "fake/exposes:8080")
  const before = await call("GET", `/image/check?ID=${ID}`)
  assert.deepEqual(
    [before.status, before.body.Present, before.body.Pulling, before.body.Digest, before.body.Types],
    [200, false, false, "", []],
  )
  const pulled = await call("POST", `/image/pull?ID=${ID}`)
  assert.equal(pulled.status, 200)
  const { body } = await call("GET", `/image/check?ID=${ID}`)
  assert.deepEqual(body, pulled.body)
  const { Digest, RegistryDigest, ...rest } = body
  for (const digest of [Digest, RegistryDigest]) assert.match(String(digest), /^sha256:[0-9a-f]{64}$/)
  assert.deepEqual(rest, {
    ID,
    Image: "fake/exposes:8080",
    Present: true,
    Pulling: false,
    Size: 10_000_000,
    Architecture: "",
    IsForeign: false,
    User: "",
    EntryPoint: ["/fake"],
    Command: [],
    WorkDir: "/app",
    Ports: ["8080/tcp"],
    Types: ["vscode", "http"],
  } as never)
  const run = (await tried(ann, ID)).body
  assert.deepEqual([run.ImageDigest, run.RegistryDigest], [Digest, RegistryDigest])
})

test("a check and a preview report an image for another kind of processor before a start fails for that reason", async () => {
  const { ID } = await register(ann, "fake/foreign")
  const project = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: ID } })
  const describe = async (isPresent: boolean) => {
    const { body } = await call("GET", `/image/check?ID=${ID}`)
    assert.deepEqual([body.Present, body.Architecture, body.IsForeign], [isPresent, "s390x", true])
    const { Admitted, Reason } = await ann.client.previewRun({ body: { ProjectID: project.ID } })
    assert.deepEqual([Admitted, Reason?.code], [false, "wrong_architecture"])
    assert.match(String(Reason?.msg), /^The image fake\/foreign is made for s390x processors; this machine has \w+$/)
  }
  await describe(false)
  await call("POST", `/image/pull?ID=${ID}`)
  await describe(true)
  assert.equal((await tried(ann, ID)).body.code, "wrong_architecture")
})

test("a repeated run requests the image of the first one by both of its digests", async () => {
  const { ID } = await register(ann, "fake/exposes:8081")
  const started = (await tried(ann, ID)).body
  const repeated = (await call("POST", `/running_project/repeat?ID=${started.ID}`)).body
  await call("DELETE", `/running_project?ID=${repeated.ID}`)
  const { imageDigest, registryDigest } = await imageDigestsOf(server, Number(repeated.ID))
  assert.deepEqual([imageDigest, registryDigest], [started.ImageDigest, started.RegistryDigest])
  assert.match(String(registryDigest), /^sha256:/)
})

test("check requires the right to see an image, and pull the right to use it", async () => {
  const { ID } = await ann.client.createImage({ body: { Name: "i", Image: "fake/http" } })
  for (const [method, path] of [
    ["GET", "check"],
    ["POST", "pull"],
  ] as const) {
    assert.equal((await call(method, `/image/${path}?ID=${ID}`, { as: bob.authorization })).status, 404)
    assert.equal((await call(method, `/image/${path}?ID=987654`)).status, 404)
    assert.equal((await call(method, `/image/${path}`)).body.field, "ID")
    assert.equal((await call(method, `/image/${path}?ID=${ID}`, { as: admin })).status, 200)
  }
})

test("a pull continues after its caller disconnects, and the next one joins it", async () => {
  const { ID } = await register(ann, "fake/slow-pull:400")
  const response = await call("POST", `/image/pull?ID=${ID}`, { headers: { prefer: "respond-async" } })
  assert.deepEqual([response.status, response.body.Present, response.body.Pulling], [200, false, true])
  const joined = await call("POST", `/image/pull?ID=${ID}`)
  assert.deepEqual([joined.body.Present, joined.body.Pulling], [true, false])
})

test("simultaneous pulls are limited per person", async () => {
  const images = await Promise.all([1, 2, 3, 4].map((n) => register(bob, `fake/stuck-pull:${n}`)))
  const answers = []
  for (const { ID } of images)
    answers.push(await call("POST", `/image/pull?ID=${ID}`, { as: bob.authorization, headers: { prefer: "respond-async" } }))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 429],
  )
})

test("only administrators see messages of the engine or a registry", async () => {
  const { ID } = await register(ann, "fake/denied")
  const own = await call("POST", `/image/pull?ID=${ID}`)
  assert.deepEqual([own.status, own.body.code, "detail" in own.body], [409, "image_pull_denied", false])
  const failure = await call("POST", `/image/pull?ID=${ID}`, { as: admin })
  assert.equal(failure.body.detail, "reported by the fake registry")
})

test("an image whose registry is not allowed is refused when it is written, and when it is started", async () => {
  for (const reference of ["127.0.0.1:5000/x", "localhost/x", "[::1]/x", "db.internal/x", "registry.lan/x"]) {
    const refused = await call("POST", "/image", { body: { Name: "i", Image: reference } })
    assert.deepEqual([refused.status, refused.body.code, refused.body.field], [400, "invalid", "Image"], reference)
    assert.match(String(refused.body.msg), /Images may not come from/)
  }
  const images = await register(ann, "registry.lan:5000/fake/http")
  assert.equal((await call("PUT", "/image", { body: { ID: images.ID, Image: "169.254.169.254/x" } })).body.field, "Image")
  assert.equal((await tried(ann, images.ID)).status, 200)
  const { ID } = await register({ client: server.admin }, "127.0.0.1:5000/fake/http")
  assert.equal((await call("PUT", "/image", { as: admin, body: { ID, UserName: "ann" } })).status, 200)
  const failed = await tried(ann, ID)
  assert.deepEqual([failed.status, failed.body.code], [409, "image_pull_denied"])
  assert.match(String(failed.body.msg), /127\.0\.0\.1:5000/)
  assert.equal((await call("PUT", "/image", { body: { ID, Image: "127.0.0.1:5000/fake/http", Comment: "as it was" } })).status, 200)
})

test("an image that was built on the machine starts only if an administrator registered it", async () => {
  const own = await register(ann, "fake/built")
  const refused = await tried(ann, own.ID)
  assert.deepEqual([refused.status, refused.body.code], [409, "image_unavailable"])
  assert.match(String(refused.body.msg), /only if an administrator registered it/)
  assert.equal((await call("GET", `/image/check?ID=${own.ID}`)).body.code, "image_unavailable")
  assert.equal((await call("POST", `/image/pull?ID=${own.ID}`)).body.code, "image_unavailable")
  const others = await register({ client: server.admin }, "fake/built")
  assert.equal((await tried(ann, others.ID)).status, 200)
  assert.equal((await call("GET", `/image/check?ID=${others.ID}`)).body.Present, true)
  await call("PUT", "/image", { as: admin, body: { ID: own.ID, IsTrusted: true } })
  assert.equal((await tried(ann, own.ID)).status, 200)
  await call("PUT", "/image", { body: { ID: own.ID, Command: "another" } })
  assert.equal((await tried(ann, own.ID)).status, 409)
  await call("PUT", "/image", { as: admin, body: { ID: others.ID, UserName: "bob" } })
  assert.equal((await tried(ann, others.ID)).status, 409)
})

test("a write grant does not allow changing which image an administrator's definition names", async () => {
  const { ID } = await register({ client: server.admin }, "fake/http")
  assert.equal((await call("POST", "/grant", { as: admin, body: { ImageID: ID, UserName: "ann", Access: "write" } })).status, 200)
  const refused = await call("PUT", "/image", { body: { ID, Image: "fake/built" } })
  assert.deepEqual([refused.status, refused.body.field], [403, "Image"])
  assert.equal((await call("PUT", "/image", { body: { ID, Image: "fake/http", Comment: "written" } })).body.Comment, "written")
})

test("a pull sends its progress to everybody who sees the image", async () => {
  const { ID } = await register(ann, "fake/http:told")
  await using toBob = await recordEvents(bob.client)
  await call("POST", `/image/pull?ID=${ID}`)
  const { data } = await toBob.until(`image.progress ${ID}`)
  assert.ok(["pulling", "present"].includes(String((data as { State?: string }).State)))
})

test("credentials pull for their people only, and images pulled with them start for nobody else", async () => {
  const { ID } = await register({ client: server.admin }, "fake/private")
  assert.deepEqual((await tried(bob, ID)).body.code, "image_pull_denied")
  assert.equal((await tried(ann, ID)).status, 200)
  const refused = await tried(bob, ID)
  assert.deepEqual([refused.status, refused.body.code], [409, "image_pull_denied"])
  assert.equal((await call("GET", `/image/check?ID=${ID}`, { as: bob.authorization })).body.code, "image_pull_denied")
  assert.equal((await call("GET", `/image/check?ID=${ID}`)).body.Present, true)
})

test("credentials are stored only in their file", async () => {
  const names = (await readdir(server.dataDir, { recursive: true, withFileTypes: true })).filter((each) => each.isFile())
  assert.ok(names.length > 3)
  for (const { parentPath, name } of names) {
    const bytes = await readFile(join(parentPath, name))
    assert.ok(!bytes.includes("robot-password"), `${parentPath}/${name}`)
  }
})

test("an image above the size limit fails to start, and the reason names both sizes", async () => {
  const failed = await tried(ann, (await register(ann, "fake/huge:21")).ID)
  assert.deepEqual([failed.status, failed.body.code], [409, "image_too_large"])
  assert.match(String(failed.body.msg), /at least 21 GiB, more than the limit of 20 GiB/)
  assert.equal((await tried(ann, (await register(ann, "fake/huge:19")).ID)).status, 200)
})

test("a credentials file that others may read, or that is broken, stops the start without being shown", async () => {
  const start = (path: string) => startTestServer({ "registry-credentials": path })
  const other = join(folder, "other.json")
  await writeFile(other, JSON.stringify([{ ...entry, for: "robot-password" }]), { mode: 0o644 })
  await assert.rejects(start(other), { name: "SettingError", message: /must be readable by its owner only \(mode 600\); its mode is 644$/ })
  await chmod(other, 0o600)
  await assert.rejects(start(other), {
    name: "SettingError",
    message: /cannot be used: entry 1 needs a list "for" of everyone, user:<name> and group:<name>$/,
  })
  await assert.rejects(start(join(folder, "none.json")), { name: "SettingError", message: /cannot be read: ENOENT$/ })
})

test("an image that an administrator keeps present is fetched soon after it is marked", async () => {
  const { ID } = await register(ann, "fake/slow:7")
  await using recorder = await recordEvents(ann.client)
  await server.admin.updateImage({ body: { ID, KeepPresent: true } })
  await eventually("it is present", () => recorder.events.some(({ event, data }) => event === "image.progress" && data.State === "present"))
  assert.equal((await call("GET", `/image/check?ID=${ID}`)).body.Present, true)
  const rows = (await call("GET", "/stored_images?Days=1&pageSize=100", { as: admin })).body.data as unknown as AnyObject[]
  const found = rows.find(({ Images }) => (Images as unknown as string[]).includes("docker.io/fake/slow:7"))
  assert.deepEqual([found?.WouldPrune, found?.Why, found?.Size], [false, "Administrators keep it present", 10_000_000])
})

test("administrators list the stored images, and a rule that is no number is refused", async () => {
  assert.equal((await call("GET", "/stored_images")).status, 403)
  for (const name of ["Days", "MaxSize"]) {
    const { status, body } = await call("GET", `/stored_images?${name}=-1`, { as: admin })
    assert.deepEqual([status, body.field], [400, name])
  }
  const { body } = await call("GET", "/stored_images?pageSize=1", { as: admin })
  assert.equal((body.data as unknown as AnyObject[]).length, 1)
})

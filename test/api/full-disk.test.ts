import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { basic } from "#client"
import { smallDisk } from "../fixtures/small-disk.ts"
import { adminPassword, openWorld, type World } from "../world.ts"
import { type Answer, ask, isFailure } from "./asking.ts"

const as = basic("admin", adminPassword)
const canMount = process.getuid?.() === 0
const skip = !canMount && "needs the right to mount"
const firstLine = (answer: Answer) => [answer.status, answer.body.code]

/** Images until the disk is full; the names of those that were acknowledged. */
async function createUntilFull(world: World): Promise<string[]> {
  const made: string[] = []
  for (;;) {
    const names = Array.from({ length: 16 }, () => `image ${randomUUID()}`)
    const answers = await Promise.all(
      names.map((Name) => ask(world.quayside.baseUrl, "POST", "/image", { as, body: { Name, Image: "a/b", Doc: "x".repeat(20_000) } })),
    )
    for (const [i, answer] of answers.entries()) {
      if (answer.status === 200) made.push(names[i] as string)
      else assert.ok(answer.status === 507 && answer.body.code === ("storage_full" as never) && isFailure(answer), answer.text)
    }
    if (answers.every(({ status }) => status === 507)) return made
  }
}

test("on a full disk writes are 507 storage_full, reads go on, nothing acknowledged is lost, and work goes on when there is room", {
  skip: skip || (process.env.WORLD_POSTGRES !== undefined && "the database is elsewhere"),
}, async () => {
  await using disk = await smallDisk(48 * 1024)
  await using world = await openWorld({ "data-dir": `${disk.path}/data` })
  const { baseUrl, filesUrl } = world.quayside
  const put = (name: string, body: string | Buffer) =>
    ask(filesUrl, "PUT", `/users/admin/${name}`, { as, body, headers: { "content-type": "text/plain" } })
  assert.equal((await put("kept.txt", "before")).status, 201)
  const image = await world.admin.createImage({ body: { Name: "kept", Image: "a/b" } })

  disk.fillUp(2048)
  const made = await createUntilFull(world)
  assert.ok(made.length > 10)
  disk.fillUp()
  made.push(...(await createUntilFull(world)))
  for (const [method, path, body] of [
    ["PUT", "/image", { ID: image.ID, Doc: "y".repeat(200_000) }],
    ["POST", "/data", { Name: "flowers" }],
    ["POST", "/project", { ProjectName: "p", Type: "http", ImageID: image.ID, Doc: "y".repeat(200_000) }],
  ] as const)
    assert.deepEqual(firstLine(await ask(baseUrl, method, path, { as, body })), [507, "storage_full"], `${method} ${path}`)
  assert.deepEqual(firstLine(await put("new.txt", Buffer.alloc(100_000, "z"))), [507, "storage_full"])
  assert.deepEqual(firstLine(await put("kept.txt", Buffer.alloc(100_000, "z"))), [507, "storage_full"])
  assert.equal((await ask(filesUrl, "GET", "/users/admin/new.txt", { as })).status, 404, "nothing half-written remains")
  assert.equal((await ask(filesUrl, "GET", "/users/admin/kept.txt", { as })).text, "before")
  assert.equal((await ask(baseUrl, "GET", `/image?ID=${image.ID}`, { as })).body.Doc, "")

  await disk.makeRoom()
  assert.equal((await put("new.txt", Buffer.alloc(100_000, "z"))).status, 201)
  await world.admin.createImage({ body: { Name: "after", Image: "a/b" } })
  assert.equal((await ask(baseUrl, "GET", "/readyz")).status, 200)
  await world.restart()
  const names: string[] = []
  for (let page = 1; ; page += 1) {
    const { data } = await world.admin.listImages({ query: { page, pageSize: 200, sort: "ID" } as never })
    names.push(...data.map(({ Name }) => Name))
    if (data.length < 200) break
  }
  assert.deepEqual(new Set(names), new Set(["kept", ...made, "after"]))
})

import assert from "node:assert/strict"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { bounds } from "#contract"
import { startTestServer } from "../test-server.ts"

const refused = { status: 403, code: "forbidden", message: /deleted ones too, have 25\d MiB, and the limit is 256 MiB; shorten some, / }
const image = { Name: "i", Image: "fake/http" }

/** Fills the texts of an image's owner up to `left` bytes with copies, half of them deleted. */
function fillTexts(dataDir: string, imageId: number, { docBytes, left }: { docBytes: number; left: number }): void {
  using db = new DatabaseSync(join(dataDir, "quayside.db"))
  const names = db
    .prepare("select name from pragma_table_info('images') where name <> 'id'")
    .all()
    .map(({ name }) => name)
  const copied = names.map((name) => (name === "deleted_at" ? "iif(n % 2, 1, null)" : name))
  const copies = Math.floor((bounds.runs.ownedTextBytes.value - left) / docBytes) - 1
  db.exec(`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${copies})
    insert into images (${names.join()}) select ${copied.join()} from images, numbers where images.id = ${imageId}`)
}

test("one person's long texts, deleted ones too, are bounded together", async () => {
  await using server = await startTestServer()
  const { admin } = server
  const { client, userName } = await server.person("iva")
  const docBytes = 250_000
  const Doc = "x".repeat(docBytes)
  const filled = await admin.createImage({ body: { ...image, Doc, UserName: userName } })
  fillTexts(server.dataDir, filled.ID, { docBytes, left: 2 * docBytes })
  const short = await client.createImage({ body: { ...image, Doc: "short" } })
  const project = await client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: short.ID, Doc } })
  const long = [
    () => client.createImage({ body: { ...image, Doc } }),
    () =>
      client.createImage({
        body: { ...image, Env: `A=${"é".repeat(60_000)}`, Command: `x ${"y".repeat(16_000)}`, Doc: Doc.slice(100_000) },
      }),
    () => client.createData({ body: { Name: "d", AccessInfo: "", Type: "dir", Doc } }),
    () => client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: short.ID, Doc } }),
    () => client.copyProject({ query: { ID: project.ID } }),
    () => client.updateImage({ body: { ID: short.ID, Doc } }),
  ]
  await long[0]?.()
  for (const write of long) await assert.rejects(write(), refused)
  await client.createImage({ body: { ...image, Doc: "short" } })
  await client.deleteImage({ query: { ID: filled.ID } })
  await assert.rejects(client.createImage({ body: { ...image, Doc } }), refused, "deleting frees nothing")
  await client.updateProject({ body: { ID: project.ID, Doc: "" } })
  await assert.rejects(client.createImage({ body: { ...image, Doc } }), refused, "counted again within 10 s")
  await server.restart()
  await client.createImage({ body: { ...image, Doc } })
  await assert.rejects(client.createImage({ body: { ...image, Doc } }), refused)
  const { ID } = await admin.readUser({ query: { UserName: userName } })
  await admin.updateUser({ body: { ID, Limits: { MaxObjects: null } } })
  await client.createImage({ body: { ...image, Doc } })
})

test("a project's mount paths are bounded together, and stored ones may stay", async () => {
  await using server = await startTestServer()
  const { client } = await server.person("iva")
  const { ID: ImageID } = await client.createImage({ body: image })
  const datasets: number[] = []
  for (let i = 0; i < 5; i += 1) datasets.push((await client.createData({ body: { Name: `d${i}`, AccessInfo: "", Type: "dir" } })).ID)
  const linked = (count: number, characters: number) =>
    datasets
      .slice(0, count)
      .map((ID, i) => ({ ID, MountPath: `/mnt/${i}${"/directory-of-thirty-characters".repeat(200).slice(0, characters)}` }))
  const project = { ProjectName: "p", Type: "http" as const, ImageID }
  const tooLong = {
    status: 400,
    code: "invalid",
    message: /TrainData must be MountPaths of at most 16,384 bytes together; got "1\d,\d+ bytes"/,
  }
  await assert.rejects(client.createProject({ body: { ...project, TrainData: linked(5, 3_500) } }), tooLong)
  const { ID } = await client.createProject({ body: { ...project, TrainData: linked(4, 3_500) } })
  await assert.rejects(client.updateProject({ body: { ID, TrainData: linked(5, 3_500) } }), tooLong)
  await client.updateProject({ body: { ID, TrainData: linked(5, 1_000) } })
})

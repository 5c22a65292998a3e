import assert from "node:assert/strict"
import { statfsSync } from "node:fs"
import { test } from "node:test"
import { basicAuth } from "#client"
import { sendRequest } from "../api/http-client.ts"
import { ensureBusyboxImage } from "../fixtures/docker/busybox.ts"
import { eventually } from "../fixtures/eventually.ts"
import { type SmallDisk, smallDisk } from "../fixtures/files/small-disk.ts"
import { adminPassword, type Person, startTestServer, type TestServer } from "../test-server.ts"

const skip = process.env.TEST_POSTGRES !== undefined && "the database is elsewhere"
const serve = "httpd -p 8080 -h /tmp; "
/** Writes ten megabytes a second into the home without end, like a fast program on a large disk. */
const fill = `${serve} while :; do head -c 2000000 /dev/zero >> "$HOME/filling" || sleep 1; sleep 0.2; done`

async function withSmallDisk(disk: SmallDisk, settings: Record<string, string> = {}) {
  const server = await startTestServer({ engine: "docker", "data-dir": `${disk.path}/data`, "memory-overcommit": "4", ...settings })
  const image = await ensureBusyboxImage()
  let images = 0
  const start = async ({ client }: Person, script: string) => {
    images += 1
    const Command = JSON.stringify(["sh", "-c", script])
    const { ID: ImageID } = await server.admin.createImage({
      body: { Name: `i${images}`, Image: image, Command, Port: "8080", IsPublished: true },
    })
    const project = await client.createProject({ body: { ProjectName: `p${images}`, Type: "http", ImageID } })
    return (await client.startRun({ body: { ProjectID: project.ID, Memory: 128 } })).ID
  }
  return { server, start }
}

async function stateOf({ admin }: TestServer, ID: number) {
  const run = (await admin.readRun({ query: { ID } } as never)) as { State: string; Reason: { code: string; msg: string } | null }
  return { state: run.State, code: run.Reason?.code, msg: run.Reason?.msg ?? "" }
}

/** Another person signs in and saves. */
async function assertServed({ quayside }: TestServer, { userName, password, authorization: as }: Person): Promise<void> {
  const { baseUrl, filesUrl } = quayside
  const signIn = await sendRequest(baseUrl, "POST", "/session", { body: { UserName: userName, Password: password } })
  assert.equal(signIn.status, 200, signIn.text)
  const saved = await sendRequest(filesUrl, "PUT", `/users/${userName}/notes`, { as, body: "text" })
  assert.ok(saved.status === 201 || saved.status === 204, saved.text)
}

async function disable({ admin }: TestServer, UserName: string): Promise<void> {
  const { ID } = (await admin.readUser({ query: { UserName } } as never)) as { ID: number }
  await admin.updateUser({ body: { ID, IsDisabled: true } } as never)
}

test("a run that fills its home ends at `MaxStorage`, while others sign in, save and start", { skip }, async () => {
  await using disk = await smallDisk(512 * 1024, "ext4")
  const { server, start } = await withSmallDisk(disk)
  await using _ = server
  const ann = await server.person("ann", { Limits: { MaxStorage: 100 } })
  const bob = await server.person("bob")
  const filler = await start(ann, fill)
  await eventually(
    "the run has ended",
    async () => {
      await assertServed(server, bob)
      return (await stateOf(server, filler)).state === "ended"
    },
    90_000,
  )
  const { code, msg } = await stateOf(server, filler)
  assert.equal(code, "disk_full")
  assert.match(msg, /^ann may store 100 MiB and \d+ MiB are stored; this run's directories grew by \d+ MiB/)
  const { bavail, bsize } = statfsSync(disk.path)
  assert.ok(bavail * bsize > 100 * 2 ** 20, "long before the disk is full")
  await assertServed(server, bob)
  const quiet = await start(bob, `${serve} sleep 1000`)
  assert.equal((await stateOf(server, quiet)).state, "ready")
  await disable(server, "ann")
  await server.admin.stopRun({ query: { ID: quiet } })
})

test("without a limit only the run that fills the disk ends, before the disk is full, and the administrator frees space", {
  skip,
}, async () => {
  await using disk = await smallDisk(512 * 1024, "ext4")
  const { server, start } = await withSmallDisk(disk, { "storage-reserve": "160MiB" })
  await using _ = server
  const [ann, bob] = [await server.person("ann"), await server.person("bob")]
  const quiet = await start(bob, `${serve} sleep 1000`)
  const filler = await start(ann, fill)
  await eventually("the run has ended", async () => (await stateOf(server, filler)).state === "ended", 90_000)
  const { code, msg } = await stateOf(server, filler)
  assert.equal(code, "disk_full")
  assert.match(msg, /of the disk are free, and 160 MiB are kept free; this run's directories grew most, by \d+ MiB/)
  const { baseUrl, filesUrl } = server.quayside
  const signIn = await sendRequest(baseUrl, "POST", "/session", { body: { UserName: "admin", Password: adminPassword } })
  assert.equal(signIn.status, 200, signIn.text)
  assert.equal((await sendRequest(filesUrl, "PUT", "/users/bob/notes", { as: bob.authorization, body: "text" })).status, 507)
  await disable(server, "ann")
  const as = basicAuth("admin", adminPassword)
  // Only administrators changed the administrator's image, so the run had Ann's home.
  const path = "/users/ann/filling"
  assert.equal((await sendRequest(filesUrl, "DELETE", path, { as })).status, 204)
  await assertServed(server, bob)
  assert.equal((await stateOf(server, quiet)).state, "ready")
  await server.admin.stopRun({ query: { ID: quiet } })
})

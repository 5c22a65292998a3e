import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { ask } from "../api/asking.ts"
import { ensureBusyboxImage } from "../fixtures/busybox.ts"
import { openWorld, type Person, type World } from "../world.ts"

/*
 * Bob has one dataset within another. Through the outer one a program of his changes what the inner
 * one's path leads to; then he starts something with the inner one.
 */

const canary = "canary-of-ann"
let world: World
let [ann, bob]: Person[] = []
before(async () => {
  world = await openWorld({ engine: "docker" })
  ;[ann, bob] = [await world.person("ann"), await world.person("bob")]
  await ann.client.createData({ body: { Name: "leaf", AccessInfo: "/users/ann/leaf" } })
  const put = await ask(world.quayside.filesUrl, "PUT", "/users/ann/leaf/secret.txt", { as: ann.authorization, body: canary })
  assert.equal(put.status, 201)
})
after(async () => {
  for (const { ID, State } of (await world.admin.listRuns({ query: { pageSize: 100 } })).data)
    if (State === "ready") await world.admin.stopRun({ query: { ID } })
  await world[Symbol.asyncDispose]()
})

/**
 * Runs a script as a program of Bob's with this dataset at `/data`; answers what it printed, or why
 * it did not start.
 */
async function tried(script: string, DataID: number): Promise<string> {
  const { client } = bob as Person
  const Command = JSON.stringify(["sh", "-c", `${script}; echo; echo done; exec httpd -f -p 8080 -h /www`])
  const { ID: ImageID } = await world.admin.createImage({
    body: { Name: "tries", Image: await ensureBusyboxImage(), Command, Port: "8080", IsPublished: true },
  })
  const TrainData = [{ ID: DataID, MountPath: "/data" }]
  const project = await client.createProject({ body: { ProjectName: "p", Type: "http", ImageID, TrainData } })
  const run = await client.startRun({ body: { ProjectID: project.ID } }).catch((error: unknown) => String((error as Error).message))
  if (typeof run === "string") return run
  const said = JSON.stringify(await Array.fromAsync(await client.runLogs({ query: { ID: run.ID } })))
  await client.stopRun({ query: { ID: run.ID } })
  return said
}

const swaps: [what: string, inner: string, script: string][] = [
  ["the directory itself", "leaf", "mv leaf was && ln -s ../../ann/leaf leaf"],
  ["a directory above it", "above/leaf", "mv above was && ln -s ../../ann above"],
]
for (const [n, [what, inner, script]] of swaps.entries()) {
  test(`a dataset within another mounts nobody else's directory after ${what} became a link`, async () => {
    const { client, authorization } = bob as Person
    const tree = `/users/bob/tree${n}`
    const outer = await client.createData({ body: { Name: "outer", AccessInfo: tree } })
    const data = await client.createData({ body: { Name: "inner", AccessInfo: `${tree}/${inner}` } })
    assert.match(
      await tried("cd /data && touch mine && echo mounted", data.ID),
      /mounted/,
      "it is mounted while nobody has changed anything",
    )
    assert.match(await tried(`cd /data && ${script} && ls -l`, outer.ID), / -> \.\.\/\.\.\/ann/)
    assert.ok(existsSync(join(world.dataDir, "files", `${tree}/${inner}`, "secret.txt")), "on the host the path leads there")
    const said = await tried("cat /data/* /data/*/*", data.ID)
    assert.doesNotMatch(said, new RegExp(canary))
    assert.match(said, /is missing|does not exist|not a directory|mount/i)
    const read = await ask(world.quayside.filesUrl, "GET", `${tree}/${inner}/secret.txt`, { as: authorization })
    assert.equal(read.status, 404)
  })
}

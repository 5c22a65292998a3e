import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { basicAuth, createClient } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { startServerProcess } from "../server-process.ts"

/** The mounts below a directory. */
function mountedBelow(directory: string): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter((line) => line.split(" ")[4]?.startsWith(`${directory}/`))
}

test("a server killed between pinning mounts and starting the container releases them at its next start", async () => {
  await using server = await startServerProcess({ QUAYSIDE_ENGINE: "docker" })
  const staging = join(server.directory, "data/mounts")
  const admin = () => createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
  const image = await admin().createImage({ body: { Name: "web", Image: "quayside/python-app" } })
  const project = await admin().createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
  /** Kills the process once the pins exist, and returns their number; 0 if the start was faster. */
  const killed = async () => {
    let isOver = false
    const starting = admin()
      .startRun({ body: { ProjectID: project.ID } })
      .catch(() => undefined)
      .finally(() => (isOver = true))
    // No pause: the pins exist only while the daemon creates the container.
    while (mountedBelow(staging).length < 3 && !isOver) await new Promise((resolve) => setImmediate(resolve))
    await server.kill("SIGKILL")
    await starting
    return mountedBelow(staging).length
  }
  let left = await killed()
  for (let attempt = 1; attempt < 5 && left === 0; attempt += 1) {
    await server.start()
    const { data } = await admin().listRuns({ query: { ProjectID: project.ID } })
    for (const { ID } of data) await admin().stopRun({ query: { ID } })
    left = await killed()
  }
  assert.ok(left > 0, "it was killed while the pins were there")
  await server.start()
  const isOver = async () => {
    const { data } = await admin().listRuns({ query: { ProjectID: project.ID } })
    return data.every(({ State }) => State === "ready") && (await readdir(staging)).length === 0
  }
  await eventually("the run is taken up or ended, and nothing is staged", isOver, 60_000)
  assert.deepEqual(mountedBelow(staging), [])
})

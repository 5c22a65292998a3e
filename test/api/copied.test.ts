import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { startTestServer } from "../test-server.ts"

test("a copied installation manages only its own runs and leaves the original's running", {
  skip: process.env.TEST_POSTGRES !== undefined && "copies a file of SQLite's",
}, async () => {
  await using server = await startTestServer()
  const image = await server.admin.createImage({ body: { Name: "web", Image: "fake/http" } })
  const project = await server.admin.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
  const run = await server.admin.startRun({ body: { ProjectID: project.ID } })
  const directory = await mkdtemp(join(tmpdir(), "quayside-copied-"))
  execFileSync("cp", ["-a", `${server.dataDir}/.`, directory])
  const copy = await startTestServer({ "data-dir": directory })
  try {
    let lost = await copy.admin.readRun({ query: { ID: run.ID } })
    while (lost.State !== "ended" && lost.State !== "failed") lost = await copy.admin.readRun({ query: { ID: run.ID } })
    assert.equal(lost.Reason?.code, "lost")
    const repeated = await copy.admin.startRun({ body: { ProjectID: project.ID } })
    assert.equal(repeated.State, "ready")
    await copy.admin.stopRun({ query: { ID: repeated.ID } })
  } finally {
    await copy[Symbol.asyncDispose]()
    await rm(directory, { recursive: true, force: true })
  }
  assert.equal((await server.admin.readRun({ query: { ID: run.ID } })).State, "ready")
  await server.restart()
  assert.equal((await server.admin.readRun({ query: { ID: run.ID } })).State, "ready")
  await server.admin.stopRun({ query: { ID: run.ID } })
})

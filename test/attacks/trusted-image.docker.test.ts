import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { test } from "node:test"
import { startRegistry } from "../fixtures/docker/registry.ts"
import { eventually } from "../fixtures/eventually.ts"
import { startTestServer } from "../test-server.ts"

test("another image under the tag of a trusted one never gets the home of a person who starts it", async (t) => {
  await using registry = await startRegistry()
  await using server = await startTestServer({ engine: "docker", registries: registry.host })
  const [ann, bob] = [await server.person("ann"), await server.person("bob")]
  const reference = `${registry.host}/good/tool:latest`
  t.after(() => execFileSync("docker", ["rmi", reference]))
  const { ID: ImageID } = await ann.client.createImage({ body: { Name: "tool", Image: reference, Command: "sh", IsPublished: true } })
  const { ID: ProjectID } = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID, IsPublic: true } })
  await server.admin.updateImage({ body: { ID: ImageID, IsTrusted: true } })
  await server.admin.updateProject({ body: { ID: ProjectID, IsTrusted: true } })
  /** The code of the reason: there is no program in the image. */
  const start = async () => {
    const { ID } = await bob.client.startRun({ body: { ProjectID }, headers: { prefer: "respond-async" } })
    let run = await bob.client.readRun({ query: { ID } })
    await eventually("the start has failed", async () => {
      run = await bob.client.readRun({ query: { ID } })
      return run.State === "failed" || run.State === "ended"
    })
    return { code: run.Reason?.code, msg: run.Reason?.msg, home: run.Home }
  }
  const isTrusted = async () => (await server.admin.readImage({ query: { ID: ImageID } })).IsTrusted
  const first = await start()
  assert.deepEqual([first.code, first.home, await isTrusted()], ["command_not_found", "/users/bob", true])
  registry.renew("good/tool")
  await ann.client.pullImage({ query: { ID: ImageID } })
  const second = await start()
  assert.equal(second.code, "access_withdrawn")
  assert.match(String(second.msg), /had the home of bob, which it may not have: the project is ann's, and no administrator trusts it/)
  assert.equal(await isTrusted(), false)
  const third = await start()
  assert.deepEqual([third.code, third.home === "/users/bob"], ["command_not_found", false])
})

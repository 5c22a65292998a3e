import assert from "node:assert/strict"
import { test } from "node:test"
import { ensureBusyboxImage } from "../fixtures/docker/busybox.ts"
import { startOutsideHost } from "../fixtures/docker/outside-host.ts"
import { startTestServer } from "../test-server.ts"

test("the first setting for a group that somebody is in counts for their runs, and nobody else's", async () => {
  await using outside = await startOutsideHost()
  const setting = `exam=off,lab=${outside.privateAddress}`
  await using server = await startTestServer({ engine: "docker", "group-internet": setting })
  const targets = [outside.publicAddress, outside.privateAddress].map(
    (host) => `nc -w 3 ${host} 80 </dev/null >/dev/null 2>&1 && echo ${host}`,
  )
  const Command = JSON.stringify(["sh", "-c", `${targets.join("; ")}; echo tried; exec httpd -f -p 8080 -h /www`])
  const image = await server.admin.createImage({
    body: { Name: "probe", Image: await ensureBusyboxImage(), Command, Port: "8080", IsPublished: true },
  })
  const people = { ann: await server.person("ann"), bob: await server.person("bob"), carol: await server.person("carol") }
  await server.admin.createGroup({ body: { GroupName: "lab", Members: ["ann", "bob"] } })
  await server.admin.createGroup({ body: { GroupName: "exam", Members: ["ann"] } })
  const reached = async ({ client }: (typeof people)["ann"]) => {
    const project = await client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
    const run = await client.startRun({ body: { ProjectID: project.ID } })
    try {
      const text = JSON.stringify(await Array.fromAsync(await client.runLogs({ query: { ID: run.ID } })))
      return [outside.publicAddress, outside.privateAddress].filter((host) => text.includes(host))
    } finally {
      await client.stopRun({ query: { ID: run.ID } })
    }
  }
  assert.deepEqual(await reached(people.ann), [])
  assert.deepEqual(await reached(people.bob), [outside.privateAddress])
  assert.deepEqual(await reached(people.carol), [outside.publicAddress])
})

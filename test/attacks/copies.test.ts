import assert from "node:assert/strict"
import { test } from "node:test"
import { bounds, Failure } from "#contract"
import { FileTree } from "#files"
import { eventually } from "../fixtures/eventually.ts"
import { startTestServer } from "../test-server.ts"

/*
 * A copy of a project, a release of its code and a publication take minutes for large code, and one
 * person may request thousands at once.
 */

const { projectCopies, waitingProjectCopies } = bounds.files

test("a person's copies of projects and releases of code wait for each other, and are bounded", async (t) => {
  await using server = await startTestServer()
  const [ann, bob] = [await server.person("ann"), await server.person("bob")]
  const projectOf = async ({ client }: typeof ann) => {
    const image = await client.createImage({ body: { Name: "i", Image: "fake/ready" } })
    return (await client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })).ID
  }
  const [own, others] = [await projectOf(ann), await projectOf(bob)]
  const { promise: end, resolve } = Promise.withResolvers<undefined>()
  const copied = t.mock.method(FileTree.prototype, "copyTree", () => end).mock
  const share = Math.ceil((projectCopies.value + waitingProjectCopies.value) / 2)
  const refused: Failure[] = []
  const count = (error: unknown) => void (error instanceof Failure && refused.push(error))
  const requests = Array.from({ length: share }, () => [
    ann.client.releaseProject({ query: { ID: own } }).catch(count),
    ann.client.updateProject({ body: { ID: own, IsPublic: true } }).catch(count),
  ]).flat()
  requests.push(ann.client.copyProject({ query: { ID: own } }).catch(count))
  await eventually("one is refused", async () => refused.length > 0)
  assert.deepEqual([refused.length, refused[0]?.code, copied.callCount()], [1, "too_many_requests", projectCopies.value])
  const another = bob.client.releaseProject({ query: { ID: others } })
  await eventually("another person's release begins", async () => copied.callCount() > projectCopies.value)
  resolve(undefined)
  await Promise.all([...requests, another])
})

import assert from "node:assert/strict"
import { test } from "node:test"
import { openEvents } from "#events"
import { silentLogger } from "#kit"
import type { RunPlan } from "#store"
import { createIdentityFixture } from "../../../test/fixtures/identity.ts"
import { checkTrustedDigest, renewTrustedDigest, renewTrustedDigestOfProject } from "./trusted-digest.ts"

const tag = "registry.example/ann/tool:latest"

/** A marked image of ann's with a project, and what becomes of its starts. */
async function createFixture(reference: string, { isMarked = true, isProjectMarked = false, isAdmin = false } = {}) {
  const stack = new AsyncDisposableStack()
  const { store, clock, person } = stack.use(await createIdentityFixture())
  const events = stack.use(openEvents({ store, clock, logger: silentLogger }))
  const ann = await person("ann", null, { isAdmin })
  const texts = { comment: "", doc: "", command: "", env: "", port: "", writablePaths: [], keepPresent: false }
  const { image, project } = await store.change(async (tx) => {
    const flags = { isPublished: false, isTrusted: isMarked, writtenBy: 0 }
    const image = await tx.images.insert({ ...texts, ...flags, name: "tool", image: reference, userId: ann.id })
    const paths = { userPath: "", codePath: "", modelPath: "", startMinutes: 0, idleMinutes: 0, maxRunHours: 0 }
    const shown = { projectName: "p", type: "http" as const, groupId: 0, isPublic: false, isTrusted: isProjectMarked, writtenBy: 0 }
    const project = await tx.projects.insert({ ...shown, ...paths, comment: "", userId: ann.id, imageId: image.id })
    return { image, project }
  })
  const spec = { imageId: image.id, image: reference } as RunPlan
  return {
    store,
    /** Whether image and project are trusted when a start has the image of this digest. */
    async start(digest: string, reference = spec.image) {
      await checkTrustedDigest({ store, events }, { spec: { ...spec, image: reference }, projectId: project.id }, digest)
      return [(await store.images.get(image.id))?.isTrusted, (await store.projects.get(project.id))?.isTrusted]
    },
    markImage: () =>
      store.change(async (tx) => {
        const was = (await tx.images.get(image.id)) ?? image
        await renewTrustedDigest(tx, { was, now: (await tx.images.update(image.id, { isTrusted: true })) ?? image })
      }),
    markProject: () =>
      store.change(async (tx) => {
        const was = (await tx.projects.get(project.id)) ?? project
        await renewTrustedDigestOfProject(tx, { was, now: (await tx.projects.update(project.id, { isTrusted: true })) ?? project })
      }),
    reported: async () =>
      (await store.events.after(0, 100)).flatMap(({ event, data }) => (/Warning/.test(JSON.stringify(data)) ? [event] : [])),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

test("an image that its owner pushes under the tag of a trusted one ends the trust in it and in its projects", async () => {
  await using fixture = await createFixture(tag, { isProjectMarked: true })
  const { start, markImage, markProject, reported } = fixture
  assert.deepEqual(await start("sha256:1"), [true, true])
  assert.deepEqual(await start("sha256:2", "registry.example/ann/earlier"), [true, true], "a repeated run of an earlier reference")
  await markImage()
  assert.deepEqual(await start("sha256:1"), [true, true])
  assert.deepEqual(await reported(), [])
  assert.deepEqual(await start("sha256:2"), [false, false])
  assert.deepEqual((await reported()).sort(), ["image.updated", "project.updated"])
  await markImage()
  assert.deepEqual(await start("sha256:2"), [true, false])
  assert.deepEqual(await start("sha256:3"), [false, false])
  await markProject()
  assert.deepEqual(await start("sha256:3"), [false, true])
  assert.deepEqual(await start("sha256:1"), [false, false])
})

test("an image that an administrator built may be built again, and is none that a registry provides", async () => {
  await using fixture = await createFixture(tag)
  assert.deepEqual(await fixture.start(""), [true, false])
  assert.deepEqual(await fixture.start(""), [true, false])
  assert.deepEqual(await fixture.start("sha256:1"), [false, false])
})

for (const [title, reference, options] of [
  ["a reference with a digest", `registry.example/ann/tool@sha256:${"1".repeat(64)}`, {}],
  ["an administrator's image", tag, { isAdmin: true }],
  ["an image that nobody trusts", tag, { isMarked: false }],
] as const) {
  test(`${title} may have any digest`, async () => {
    await using fixture = await createFixture(reference, options)
    const before = await fixture.start("sha256:1")
    assert.deepEqual(await fixture.start("sha256:2"), before)
    assert.deepEqual(await fixture.reported(), [])
  })
}

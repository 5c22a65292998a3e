import assert from "node:assert/strict"
import { statfsSync } from "node:fs"
import { after, before, describe, test } from "node:test"
import { bounds } from "#contract"
import { startDockerEngine, type TestDockerEngine } from "../../../../test/fixtures/docker/docker-engine.ts"
import { type Registry, startRegistry } from "../../../../test/fixtures/docker/registry.ts"
import { specOf } from "../../../../test/fixtures/run-spec.ts"
import { ownArchitecture } from "../../architecture.ts"
import { type Engine, EngineError, type ImagePolicy } from "../../engine.ts"
import { RegistryAllowlist } from "../../registry-allowlist.ts"

const credentials = { username: "robot", password: "robot-password" }
const anyone: ImagePolicy = { verifyAccess: false, allowLocal: false }
const never = new AbortController().signal

/** The registry's images contain no program, so a successful pull ends with `command_not_found`. */
let rig: TestDockerEngine
let registry: Registry
let privateRegistry: Registry
before(async () => {
  ;[rig, registry, privateRegistry] = await Promise.all([startDockerEngine(), startRegistry(), startRegistry({ isPrivate: true })])
})
after(async () => {
  for (const { host } of [registry, privateRegistry]) {
    const images = await rig.docker("images", "--quiet", "--filter", `reference=${host}/*/*`)
    for (const image of new Set(images.split("\n"))) if (image !== "") await rig.docker("rmi", "--force", image)
  }
  await privateRegistry[Symbol.asyncDispose]()
  await registry[Symbol.asyncDispose]()
  await rig[Symbol.asyncDispose]()
})

const named = (name: string) => `${registry.host}/${name}`
const start = (image: string, imagePolicy: ImagePolicy, engine: Engine = rig.engine) =>
  engine.start(specOf({ image, imagePolicy }), () => {}, never)
const pull = (image: string, policy: ImagePolicy, engine: Engine = rig.engine) =>
  engine.pull(image, { policy, report: () => {}, signal: never })
const tagged = () => rig.docker("images", "--format", "{{.Repository}}:{{.Tag}}", "--filter", `reference=${registry.host}/*/*`)

describe("the origin of a local image", () => {
  test("an image of a private registry starts only for people with its credentials", async () => {
    const image = `${privateRegistry.host}/good/one`
    await assert.rejects(start(image, { verifyAccess: true, allowLocal: false }), { code: "image_pull_denied" })
    await assert.rejects(start(image, { credentials, verifyAccess: true, allowLocal: false }), { code: "command_not_found" })
    await assert.rejects(start(image, { verifyAccess: true, allowLocal: true }), { code: "image_pull_denied" })
    await assert.rejects(rig.engine.image(image, { verifyAccess: true, allowLocal: false }), { code: "image_pull_denied" })
    const wrong = { ...credentials, password: "guessed" }
    await assert.rejects(
      start(image, { credentials: wrong, verifyAccess: true, allowLocal: false }),
      (error: Error & { detail?: string }) => {
        assert.doesNotMatch(`${error.message} ${error.detail} ${JSON.stringify(error)}`, /guessed|robot/)
        return true
      },
    )
    await assert.rejects(start(image, { credentials, verifyAccess: true, allowLocal: false }), { code: "command_not_found" })
  })

  test("an image whose tag moved at the registry is verified by its digest", async () => {
    const image = named("good/moved")
    await pull(image, anyone)
    registry.renew("good/moved")
    await assert.rejects(start(image, { verifyAccess: true, allowLocal: false }), { code: "image_pull_denied" })
    await assert.rejects(start(image, anyone), { code: "command_not_found" })
  })

  test("a start with a digest uses that image after its tag moved, by the same policy, until it is gone", async () => {
    const image = named("good/repeated")
    const first = await pull(image, anyone)
    registry.renew("good/repeated")
    const second = await pull(image, anyone)
    assert.notEqual(second.digest, first.digest)
    const begin = (imageDigest: string, imagePolicy: ImagePolicy) =>
      rig.engine.start(specOf({ image, imageDigest, imagePolicy }), () => {}, never)
    // Both images contain no program: the start gets beyond the choice of the image.
    for (const { digest } of [first, second]) await assert.rejects(begin(digest, anyone), { code: "command_not_found" })
    await assert.rejects(begin(first.digest, { verifyAccess: true, allowLocal: false }), { code: "image_pull_denied" })
    const id = await rig.docker("image", "inspect", "--format", "{{.Id}}", rig.image)
    await assert.rejects(begin(id, anyone), { code: "image_unavailable", message: /only if an administrator registered it/ })
    await rig.docker("rmi", first.digest)
    await assert.rejects(begin(first.digest, anyone), { code: "image_unavailable", message: /changed since the run started, and .* gone/ })
  })

  test("a start fetches the image of an earlier run by its registry's digest, until the registry lost it", async () => {
    const image = named("good/exact")
    const first = await pull(image, anyone)
    await rig.docker("rmi", first.digest)
    const begin = (imageDigest: string, imagePolicy = anyone) =>
      rig.engine.start(specOf({ image, imageDigest, registryDigest: first.registryDigest, imagePolicy }), () => {}, never)
    await assert.rejects(begin(first.digest), { code: "command_not_found" })
    assert.doesNotMatch(await tagged(), new RegExp(`${image}:latest`), "the tag is not fetched")
    await rig.docker("rmi", first.digest)
    registry.renew("good/exact")
    assert.notEqual((await pull(image, anyone)).digest, first.digest)
    await assert.rejects(begin(first.digest), { code: "image_unavailable", message: /changed since the run started, and .* gone/ })
  })

  test("an image built on this machine cannot be used by name or by ID, and is never replaced", async () => {
    const id = await rig.docker("image", "inspect", "--format", "{{.Id}}", rig.image)
    await assert.rejects(start(rig.image, anyone), { code: "image_unavailable", message: /only if an administrator registered it/ })
    await assert.rejects(rig.engine.image(rig.image, anyone), { code: "image_unavailable" })
    for (const each of [id, id.slice(0, 20), id.slice("sha256:".length, 20)])
      await assert.rejects(start(each, { verifyAccess: false, allowLocal: true }), { code: "image_pull_denied" }, each)
    assert.equal((await rig.engine.image(rig.image, { verifyAccess: false, allowLocal: true }))?.digest, id)
    await assert.rejects(pull(rig.image, { verifyAccess: false, allowLocal: true }), {
      code: "image_unavailable",
      message: /does not replace it/,
    })
  })

  test("an image tagged with another registry name does not count as an image of that name", async () => {
    await pull(named("good/source"), anyone)
    const other = named("good/renamed")
    await rig.docker("tag", named("good/source"), other)
    await assert.rejects(start(other, anyone), { code: "image_unavailable" })
  })
})

test("the registry tells the kind of processor that a pull would fetch, by the same policy", async () => {
  const architectureOf = async (image: string, policy = anyone, engine: Engine = rig.engine) => engine.registryArchitecture?.(image, policy)
  assert.equal(await architectureOf(named("list/s390x")), "s390x")
  assert.equal(await architectureOf(named(`list/s390x-${ownArchitecture}`)), ownArchitecture)
  assert.equal(await architectureOf(named("good/plain")), "amd64")
  assert.equal(await rig.engine.image(named("good/plain"), anyone), undefined, "nothing is fetched")
  const secret = `${privateRegistry.host}/list/s390x`
  await assert.rejects(architectureOf(secret), EngineError)
  assert.equal(await architectureOf(secret, { ...anyone, credentials }), "s390x")
  await using onlyPublic = await rig.open({ registries: new RegistryAllowlist({ allowed: ["public"] }) })
  await assert.rejects(architectureOf(named("list/s390x"), anyone, onlyPublic), { code: "image_pull_denied" })
})

/** Bytes of the engine's disk for each inode, or the least that an entry counts. */
async function bytesOfEntry(): Promise<number> {
  const { blocks, bsize, files } = statfsSync(await rig.docker("info", "--format", "{{.DockerRootDir}}"))
  return Math.max(bounds.storage.entryBytes.value, files > 0 ? (blocks * bsize) / files : 0)
}

describe("the size of an image", () => {
  test("an image over the maximum size is rejected during the pull, and nothing of it remains", async () => {
    await using engine = await rig.open({ maxImageBytes: 400_000 })
    await assert.rejects(start(named("slow/large"), anyone, engine), {
      code: "image_too_large",
      message: /at least .* more than the limit of/,
    })
    await registry.idle()
    assert.doesNotMatch(await tagged(), /slow\/large/)
  })

  test("an image that is too large only after unpacking is removed, and its name refers to the previous one", async () => {
    await using engine = await rig.open({ maxImageBytes: 1_000_000 })
    await assert.rejects(start(named("zeros/bomb"), anyone, engine), { code: "image_too_large" })
    assert.doesNotMatch(await tagged(), /zeros\/bomb/)
    const before = await pull(named("zeros/other"), anyone)
    registry.renew("zeros/other")
    await assert.rejects(pull(named("zeros/other"), anyone, engine), { code: "image_too_large" })
    assert.equal((await engine.image(named("zeros/other"), { verifyAccess: false, allowLocal: true }))?.digest, before.digest)
  })

  test("an image whose volumes could each hold a copy of all of it is rejected, unless an administrator registered it", async () => {
    const maxImageBytes = 1_500_000
    await using engine = await rig.open({ maxImageBytes })
    for (const begin of [pull, start])
      await assert.rejects(begin(named("copies/one"), anyone, engine), { code: "image_too_large", message: /3 volumes/ })
    assert.doesNotMatch(await tagged(), /copies/)
    await pull(named("copies/one"), anyone)
    await assert.rejects(start(named("copies/one"), anyone, engine), { code: "image_too_large", message: /3 volumes/ })
    await assert.rejects(start(named("copies/one"), { verifyAccess: false, allowLocal: true }, engine), { code: "command_not_found" })
  })

  test("each file and directory of an image counts as its share of the engine's disk", async () => {
    const entry = await bytesOfEntry()
    const found = { code: "image_too_large", message: /files and directories/ }
    await using strict = await rig.open({ maxImageBytes: 150 * entry })
    for (const begin of [pull, start]) await assert.rejects(begin(named("empty/100"), anyone, strict), found)
    assert.doesNotMatch(await tagged(), /empty/)
    await using engine = await rig.open({ maxImageBytes: 400 * entry })
    const { digest } = await pull(named("empty/100"), anyone, engine)
    const stored = (await engine.images()).find((image) => image.digest === digest)
    assert.ok(stored?.size === 0 && stored.room !== undefined && stored.room >= 200 * entry, JSON.stringify(stored))
    await pull(named("empty-copies/100"), anyone)
    for (const begin of [pull, start])
      await assert.rejects(begin(named("empty-copies/100"), anyone, engine), { code: "image_too_large", message: /3 volumes/ })
  })

  test("an image with too large a configuration is rejected and removed", async () => {
    const messages = { labels: /configuration/, ports: /1001 ports/, volumes: /65 volumes/, answer: /its description/ }
    for (const [kind, message] of Object.entries(messages)) {
      const image = named(`${kind}/heavy`)
      for (const begin of [start, pull])
        await assert.rejects(begin(image, anyone), { code: "image_unavailable", message }, `${kind} by ${begin.name}`)
      assert.doesNotMatch(await tagged(), /heavy/, kind)
    }
    const image = named("labels/local")
    await rig.docker("pull", "--quiet", image)
    await assert.rejects(start(image, { verifyAccess: false, allowLocal: true }), { code: "image_unavailable" })
    await rig.docker("rmi", image)
  })
})

describe("the pull of an image", () => {
  test("a pull fetches a local image again, and a description fetches nothing", async () => {
    const image = named("good/news")
    assert.equal(await rig.engine.image(image, anyone), undefined)
    const first = await pull(image, anyone)
    registry.renew("good/news")
    assert.equal((await rig.engine.image(image, anyone))?.digest, first.digest)
    const second = await pull(image, anyone)
    assert.notEqual(second.digest, first.digest)
    assert.ok(second.size >= 600_000 && second.command.includes("/nothing"), JSON.stringify(second))
  })

  test("an image is not requested from a registry that is denied by its name or its address", async () => {
    const elsewhere = named("good/elsewhere")
    await using onlyPublic = await rig.open({ registries: new RegistryAllowlist({ allowed: ["public"] }) })
    await assert.rejects(start(elsewhere, { verifyAccess: false, allowLocal: true }, onlyPublic), {
      code: "image_pull_denied",
      message: /neither a public name/,
    })
    const lookup = async () => ["93.184.216.34", "10.1.2.3"]
    await using resolved = await rig.open({ registries: new RegistryAllowlist({ allowed: ["public"], lookup }) })
    await assert.rejects(start("registry.quayside.dev/good/x", anyone, resolved), { code: "image_pull_denied", message: /not public/ })
    await pull(elsewhere, anyone)
    await assert.rejects(start(elsewhere, anyone, onlyPublic), { code: "image_pull_denied" })
    await assert.rejects(start(elsewhere, { verifyAccess: false, allowLocal: true }, onlyPublic), { code: "command_not_found" })
  })
})

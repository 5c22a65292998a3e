import { createHash } from "node:crypto"
import { formatOciReference } from "#contract"
import {
  EngineError,
  type ImageInfo,
  type ImagePolicy,
  type ImageRemoval,
  type Progress,
  type RemovableImage,
  type StoredImage,
} from "../engine.ts"
import { changedImage, checkExpectedDigest, type ImageOfSpec } from "../expected-digest.ts"
import { ImageHolds } from "../image-holds.ts"
import { assertImageAllowed, assertImageReplaceable, parseReference } from "../image-policy.ts"
import { RegistryAllowlist } from "../registry-allowlist.ts"
import type { OnPull } from "../stored-images.ts"
import { type Behaviour, behaviourOf } from "./behaviour.ts"
import type { FakeDaemon } from "./fake-daemon.ts"
import type { FakeEngineOptions } from "./fake-engine-options.ts"
import { checkCredentials, checkFakePull, fakeImageSize, pullFakeImage } from "./fake-pull.ts"

interface FetchOptions {
  report: (progress: Progress | null) => void
  signal: AbortSignal
  owner: string
}

/** The fake engine's images, under the same policy as a real engine's. */
export class FakeImages {
  readonly #daemon: FakeDaemon
  readonly #registries: RegistryAllowlist
  readonly #maxBytes: number
  readonly #onPull: OnPull | undefined
  readonly #holds = new ImageHolds()

  constructor({ daemon, registries = new RegistryAllowlist(), maxImageBytes = 0, onPull }: FakeEngineOptions) {
    this.#daemon = daemon
    this.#registries = registries
    this.#maxBytes = maxImageBytes
    this.#onPull = onPull
  }

  async find(image: string, policy: ImagePolicy): Promise<ImageInfo | undefined> {
    const digest = this.#localDigest(image)
    return digest === undefined ? undefined : this.#check(image, digest, policy)
  }

  async registryArchitecture(image: string, { credentials }: ImagePolicy): Promise<string> {
    await this.#registries.check(parseReference(image))
    const behaviour = behaviourOf(image)
    checkFakePull(behaviour, credentials)
    return fakeArchitecture(behaviour)
  }

  /** The image is held until it is disposed of. */
  ensure(spec: ImageOfSpec, how: Omit<FetchOptions, "owner">): Promise<{ image: ImageInfo } & Disposable> {
    return this.#holds.find(() => this.#ensure(spec, { ...how, owner: spec.user }))
  }

  async #ensure({ image, imagePolicy: policy, ...expected }: ImageOfSpec, how: FetchOptions): Promise<ImageInfo> {
    const { imageDigest } = expected
    const stored = imageDigest !== undefined && this.#daemon.storedImages.has(imageDigest) ? imageDigest : this.#localDigest(image)
    if (stored !== undefined && (imageDigest === undefined || stored === imageDigest)) return this.#check(image, stored, policy)
    if (imageDigest !== undefined && expected.registryDigest) {
      const isKept = this.#versionsOf(image).includes(expected.registryDigest)
      if (!isKept) throw changedImage(image)
      return this.#fetch(image, { policy, digest: expected.registryDigest }, how)
    }
    const found = stored === undefined ? await this.#fetch(image, { policy }, how) : await this.#check(image, stored, policy)
    checkExpectedDigest({ image, imageDigest }, found.digest)
    return found
  }

  async pull(image: string, policy: ImagePolicy, how: FetchOptions): Promise<ImageInfo> {
    const local = this.#localDigest(image)
    if (local !== undefined) assertImageReplaceable(toLocalImage(image, local), policy)
    return this.#fetch(image, { policy }, how)
  }

  list(): StoredImage[] {
    const names = [...this.#daemon.images]
    return [...this.#daemon.storedImages].map((digest) => ({
      digest,
      references: names.filter(([, each]) => each === digest).map(([image]) => completeReference(image)),
      size: fakeImageSize(behaviourOf(names.find(([, each]) => each === digest)?.[0] ?? "")),
    }))
  }

  async remove(image: RemovableImage, isUsed: (digest: string) => boolean): Promise<ImageRemoval> {
    return (await this.#holds.remove(image.digest, async () => this.#remove(image, isUsed))) ?? "in_use"
  }

  #remove({ digest, references }: RemovableImage, isUsed: (digest: string) => boolean): ImageRemoval {
    const { images, storedImages } = this.#daemon
    if (!storedImages.has(digest)) return "missing"
    const names = [...images].filter(([, each]) => each === digest).map(([image]) => image)
    if (names.some((image) => !references.includes(completeReference(image)))) return "foreign"
    if (isUsed(digest)) return "in_use"
    for (const image of names) images.delete(image)
    storedImages.delete(digest)
    return "removed"
  }

  async #check(image: string, digest: string, policy: ImagePolicy): Promise<ImageInfo> {
    await assertImageAllowed(toLocalImage(image, digest), policy, {
      registries: this.#registries,
      verifyAccess: async () => checkCredentials(behaviourOf(image), policy.credentials),
    })
    return toImageInfo(image, digest)
  }

  async #fetch(image: string, wanted: { policy: ImagePolicy; digest?: string }, how: FetchOptions): Promise<ImageInfo> {
    const reference = parseReference(image)
    const refusal = this.#registries.denialReason(reference)
    if (refusal !== undefined) throw new EngineError("image_pull_denied", refusal)
    const { credentials } = wanted.policy
    await pullFakeImage(this.#daemon, { behaviour: behaviourOf(image), credentials, maxBytes: this.#maxBytes, ...how })
    const digest = wanted.digest ?? (this.#versionsOf(image).at(-1) as string)
    const { images, storedImages } = this.#daemon
    const isNew = !storedImages.has(digest)
    storedImages.add(digest)
    if (wanted.digest === undefined) images.set(image, digest)
    const name = wanted.digest === undefined ? reference : { ...reference, tag: "", digest }
    await this.#onPull?.({ reference: formatOciReference(name), digest, isNew, owner: how.owner })
    return toImageInfo(image, digest)
  }

  #localDigest(image: string): string | undefined {
    return behaviourOf(image).builtHere === true ? fakeDigest(image) : this.#daemon.images.get(image)
  }

  #versionsOf(image: string): string[] {
    return Array.from({ length: (this.#daemon.movedTags.get(image) ?? 0) + 1 }, (_, version) => fakeDigest(image, version))
  }
}

function completeReference(image: string): string {
  return formatOciReference(parseReference(image))
}

function toLocalImage(image: string, digest: string) {
  return { reference: parseReference(image), registryDigest: behaviourOf(image).builtHere ? undefined : digest }
}

function toImageInfo(image: string, digest: string): ImageInfo {
  const behaviour = behaviourOf(image)
  const own = behaviour.name === "exposes" ? { workDir: "/app", ports: [`${behaviour.argument}/tcp`] } : { workDir: "", ports: [] }
  return {
    digest,
    registryDigest: behaviour.builtHere ? "" : digest,
    size: fakeImageSize(behaviour),
    architecture: fakeArchitecture(behaviour),
    user: "",
    entryPoint: ["/fake"],
    command: [],
    variables: [],
    volumes: [],
    ...own,
  }
}

function fakeArchitecture({ name }: Behaviour): string {
  return name === "foreign" ? "s390x" : ""
}

function fakeDigest(image: string, version = 0): string {
  const text = version === 0 ? image : `${image} ${version}`
  return `sha256:${createHash("sha256").update(text).digest("hex")}`
}

import { createHash } from "node:crypto"
import { EngineError, type ImageInfo, type ImagePolicy, type Progress } from "../engine.ts"
import { assertImageAllowed, assertImageReplaceable, parseReference } from "../image-policy.ts"
import { RegistryAllowlist } from "../registry-allowlist.ts"
import { behaviourOf } from "./behaviour.ts"
import type { FakeDaemon } from "./fake-daemon.ts"
import type { FakeEngineOptions } from "./fake-engine-options.ts"
import { checkCredentials, fakeImageSize, pullFakeImage } from "./fake-pull.ts"

interface FetchOptions {
  report: (progress: Progress | null) => void
  signal: AbortSignal
}

/** The fake engine's images, under the same policy as a real engine's. */
export class FakeImages {
  readonly #daemon: FakeDaemon
  readonly #registries: RegistryAllowlist
  readonly #maxBytes: number

  constructor({ daemon, registries = new RegistryAllowlist(), maxImageBytes = 0 }: FakeEngineOptions) {
    this.#daemon = daemon
    this.#registries = registries
    this.#maxBytes = maxImageBytes
  }

  async find(image: string, policy: ImagePolicy): Promise<ImageInfo | undefined> {
    if (!this.#has(image)) return undefined
    await assertImageAllowed(toLocalImage(image), policy, {
      registries: this.#registries,
      verifyAccess: async () => checkCredentials(behaviourOf(image), policy.credentials),
    })
    return toImageInfo(image)
  }

  async ensure(image: string, policy: ImagePolicy, how: FetchOptions): Promise<ImageInfo> {
    if (!(await this.find(image, policy))) await this.#fetch(image, policy, how)
    return toImageInfo(image)
  }

  async pull(image: string, policy: ImagePolicy, how: FetchOptions): Promise<ImageInfo> {
    if (this.#has(image)) assertImageReplaceable(toLocalImage(image), policy)
    await this.#fetch(image, policy, how)
    return toImageInfo(image)
  }

  async #fetch(image: string, { credentials }: ImagePolicy, how: FetchOptions): Promise<void> {
    const refusal = this.#registries.denialReason(parseReference(image))
    if (refusal !== undefined) throw new EngineError("image_pull_denied", refusal)
    await pullFakeImage(this.#daemon, { image, behaviour: behaviourOf(image), credentials, maxBytes: this.#maxBytes, ...how })
  }

  #has(image: string): boolean {
    return this.#daemon.images.has(image) || behaviourOf(image).builtHere === true
  }
}

function toLocalImage(image: string) {
  return { reference: parseReference(image), registryDigest: behaviourOf(image).builtHere ? undefined : fakeDigest(image) }
}

function toImageInfo(image: string): ImageInfo {
  const behaviour = behaviourOf(image)
  const own = behaviour.name === "exposes" ? { workDir: "/app", ports: [`${behaviour.argument}/tcp`] } : { workDir: "", ports: [] }
  return {
    digest: fakeDigest(image),
    size: fakeImageSize(behaviour),
    architecture: behaviour.name === "foreign" ? "s390x" : "",
    user: "",
    entryPoint: ["/fake"],
    command: [],
    variables: [],
    volumes: [],
    ...own,
  }
}

export function fakeDigest(image: string): string {
  return `sha256:${createHash("sha256").update(image).digest("hex")}`
}

import { createHash } from "node:crypto"
import { EngineError, type ImageInfo, type ImagePolicy, type Progress } from "../engine.ts"
import { assertReplaceable, assertUsable, parseReference } from "../image-policy.ts"
import { RegistryAllowlist } from "../registry-allowlist.ts"
import { behaviourOf } from "./behaviour.ts"
import type { FakeDaemon } from "./fake-daemon.ts"
import type { FakeEngineOptions } from "./fake-engine-options.ts"
import { ask, bytesOf, pull } from "./fake-pull.ts"

interface Fetching {
  report: (progress: Progress | null) => void
  signal: AbortSignal
}

/** The fake engine's images, under the same terms as a real engine's. */
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
    await assertUsable(held(image), policy, {
      registries: this.#registries,
      verifyAccess: async () => ask(behaviourOf(image), policy.credentials),
    })
    return factsOf(image)
  }

  async ensure(image: string, policy: ImagePolicy, how: Fetching): Promise<void> {
    if (!(await this.find(image, policy))) await this.#fetch(image, policy, how)
  }

  async pull(image: string, policy: ImagePolicy, how: Fetching): Promise<ImageInfo> {
    if (this.#has(image)) assertReplaceable(held(image), policy)
    await this.#fetch(image, policy, how)
    return factsOf(image)
  }

  async #fetch(image: string, { credentials }: ImagePolicy, how: Fetching): Promise<void> {
    const refusal = this.#registries.denialReason(parseReference(image))
    if (refusal !== undefined) throw new EngineError("image_pull_denied", refusal)
    await pull(this.#daemon, { image, behaviour: behaviourOf(image), credentials, maxBytes: this.#maxBytes, ...how })
  }

  #has(image: string): boolean {
    return this.#daemon.images.has(image) || behaviourOf(image).builtHere === true
  }
}

function held(image: string) {
  return { reference: parseReference(image), registryDigest: behaviourOf(image).builtHere ? undefined : fakeDigest(image) }
}

function factsOf(image: string): ImageInfo {
  const size = bytesOf(behaviourOf(image))
  return { digest: fakeDigest(image), size, user: "", entryPoint: ["/fake"], command: [], workDir: "", ports: ["8080/tcp"] }
}

export function fakeDigest(image: string): string {
  return `sha256:${createHash("sha256").update(image).digest("hex")}`
}

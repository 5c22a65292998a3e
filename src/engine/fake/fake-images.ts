import { createHash } from "node:crypto"
import { EngineError, type ImageFacts, type ImageTerms, type Progress } from "../engine.ts"
import { mayReplace, mayUse, referenceOf } from "../image-policy.ts"
import { Registries } from "../registry-allowlist.ts"
import { behaviourOf } from "./behaviour.ts"
import type { FakeWorld } from "./fake-daemon.ts"
import type { FakeEngineOptions } from "./fake-engine-options.ts"
import { ask, bytesOf, pull } from "./fake-pull.ts"

interface Fetching {
  report: (progress: Progress | null) => void
  signal: AbortSignal
}

/** The fake engine's images, under the same terms as a real engine's. */
export class FakeImages {
  readonly #world: FakeWorld
  readonly #registries: Registries
  readonly #maxBytes: number

  constructor({ world, registries = new Registries(), maxImageBytes = 0 }: FakeEngineOptions) {
    this.#world = world
    this.#registries = registries
    this.#maxBytes = maxImageBytes
  }

  async find(image: string, terms: ImageTerms): Promise<ImageFacts | undefined> {
    if (!this.#has(image)) return undefined
    await mayUse(held(image), terms, {
      registries: this.#registries,
      prove: async () => ask(behaviourOf(image), terms.credentials),
    })
    return factsOf(image)
  }

  async ensure(image: string, terms: ImageTerms, how: Fetching): Promise<void> {
    if (!(await this.find(image, terms))) await this.#fetch(image, terms, how)
  }

  async pull(image: string, terms: ImageTerms, how: Fetching): Promise<ImageFacts> {
    if (this.#has(image)) mayReplace(held(image), terms)
    await this.#fetch(image, terms, how)
    return factsOf(image)
  }

  async #fetch(image: string, { credentials }: ImageTerms, how: Fetching): Promise<void> {
    const refusal = this.#registries.refusal(referenceOf(image))
    if (refusal !== undefined) throw new EngineError("image_pull_denied", refusal)
    await pull(this.#world, { image, behaviour: behaviourOf(image), credentials, maxBytes: this.#maxBytes, ...how })
  }

  #has(image: string): boolean {
    return this.#world.images.has(image) || behaviourOf(image).builtHere === true
  }
}

function held(image: string) {
  return { reference: referenceOf(image), registryDigest: behaviourOf(image).builtHere ? undefined : digestOf(image) }
}

function factsOf(image: string): ImageFacts {
  const size = bytesOf(behaviourOf(image))
  return { digest: digestOf(image), size, user: "", entryPoint: ["/fake"], command: [], workDir: "", ports: ["8080/tcp"] }
}

export function digestOf(image: string): string {
  return `sha256:${createHash("sha256").update(image).digest("hex")}`
}

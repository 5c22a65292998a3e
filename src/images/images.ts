import { normalizeOciReference, type ProjectType } from "#contract"
import type { Engine, ImageInfo, ImagePolicy, RegistryAllowlist } from "#engine"
import type { Actor, Events } from "#events"
import type { Clock, Logger } from "#kit"
import type { ImageRow, Store } from "#store"
import { type CredentialEntry, CredentialRules, type ImageUser } from "./credential-rules.ts"
import { ImagePulls } from "./pulls.ts"
import { suggestTypes } from "./suggested-types.ts"

export interface ImagesOptions {
  engine: Engine
  store: Store
  events: Events
  registries: RegistryAllowlist
  credentials: readonly CredentialEntry[]
  clock: Clock
  logger: Logger
}

/**
 * An image definition and the person who requests it. The caller checks whether they may use it.
 */
export interface ImageRequest {
  image: ImageRow
  /** Whether an administrator registered it. */
  byAdmin: boolean
  person: ImageUser & { readonly userId: number }
}

/** The state of an image, as known without a pull. */
export interface ImageState {
  /** Undefined: the engine does not have it. */
  facts: ImageInfo | undefined
  types: ProjectType[]
  isPulling: boolean
}

/** The policy of container images, and pulls on request. */
export interface Images extends AsyncDisposable {
  /** The reason why nobody may pull this reference here; undefined: it is allowed. */
  refusal(reference: string): string | undefined
  /** The policy by which a person may have an image now. */
  policyFor(person: ImageUser, wanted: { reference: string; byAdmin: boolean }): ImagePolicy
  /** Rejects with an `EngineError`. */
  state(wanted: ImageRequest): Promise<ImageState>
  /**
   * Pulls the image, also after the caller disconnects. Rejects with an `EngineError`; throws a
   * `Failure` at once when the person has too many pulls.
   */
  pull(wanted: ImageRequest, actor: Actor): Promise<ImageInfo>
}

export function createImages(options: ImagesOptions): Images {
  const { engine, registries } = options
  const credentials = new CredentialRules(options.credentials)
  const pulls = new ImagePulls(options)

  const policyFor: Images["policyFor"] = (person, { reference, byAdmin }) => {
    const parsed = normalizeOciReference(reference)
    const own = parsed && credentials.credentialsFor(person, parsed)
    return {
      ...(own ? { credentials: own } : {}),
      verifyAccess: parsed !== undefined && credentials.hasRuleFor(parsed),
      allowLocal: byAdmin,
    }
  }
  const policyOf = ({ image, byAdmin, person }: ImageRequest) => policyFor(person, { reference: image.image, byAdmin })

  return {
    policyFor,
    refusal(reference) {
      const parsed = normalizeOciReference(reference)
      return parsed && registries.denialReason(parsed)
    },
    async state(wanted) {
      const reference = wanted.image.image
      const facts = await engine.image(reference, policyOf(wanted))
      const isPulling = pulls.isPulling(wanted.person.userId, reference)
      return { facts, types: facts ? suggestTypes(reference, facts) : [], isPulling }
    },
    pull: (wanted, actor) => pulls.pull({ image: wanted.image, userId: wanted.person.userId, policy: policyOf(wanted), actor }),
    [Symbol.asyncDispose]: () => pulls[Symbol.asyncDispose](),
  }
}

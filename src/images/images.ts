import { normalizeOciReference, type ProjectType } from "#contract"
import type { Engine, ImageInfo, ImagePolicy, RegistryAllowlist } from "#engine"
import type { Actor, Events } from "#events"
import type { Clock, Logger } from "#kit"
import type { ImageRow, Store } from "#store"
import { type CredentialEntry, CredentialRules, type ImageUser } from "./credential-rules.ts"
import { ImageMaintenance } from "./image-maintenance.ts"
import { ImagePruner } from "./image-pruner.ts"
import { KeptImagePuller } from "./kept-images.ts"
import type { PruneDecision, PruneRules } from "./prune-policy.ts"
import { ImagePulls } from "./pulls.ts"
import { suggestTypes } from "./suggested-types.ts"

export interface ImagesOptions {
  engine: Engine
  store: Store
  events: Events
  registries: RegistryAllowlist
  credentials: readonly CredentialEntry[]
  /** The owner of an image, by whose rights it is kept present. */
  ownerOf(image: ImageRow): Promise<{ person: ImageUser; byAdmin: boolean }>
  pruneRules: PruneRules
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
  /** The image as the engine has it, if it does. Rejects with an `EngineError`. */
  describe(person: ImageUser, wanted: { reference: string; byAdmin: boolean }): Promise<ImageInfo | undefined>
  /** Rejects with an `EngineError`. */
  state(wanted: ImageRequest): Promise<ImageState>
  /**
   * Pulls the image, also after the caller disconnects. Rejects with an `EngineError`; throws a
   * `Failure` at once when the person has too many pulls.
   */
  pull(wanted: ImageRequest, actor: Actor): Promise<ImageInfo>
  /** Begins to keep images present and to prune. */
  startKeeping(): void
  /** Called after the list of images to keep present may have changed. */
  recheckKept(): void
  /** Called at each start. */
  recordUse(digest: string): void
  /** All images of the engine, and what pruning by these rules would remove. Changes nothing. */
  decidePruning(rules?: PruneRules): Promise<PruneDecision[]>
  readonly pruneRules: PruneRules
}

export function createImages(options: ImagesOptions): Images {
  const { engine, registries } = options
  const credentials = new CredentialRules(options.credentials)
  const pulls = new ImagePulls(options)
  const pruner = new ImagePruner({ ...options, rules: options.pruneRules })

  const policyFor: Images["policyFor"] = (person, { reference, byAdmin }) => {
    const parsed = normalizeOciReference(reference)
    const own = parsed && credentials.credentialsFor(person, parsed)
    return {
      ...(own ? { credentials: own } : {}),
      verifyAccess: parsed !== undefined && credentials.hasRuleFor(parsed),
      allowLocal: byAdmin,
    }
  }
  const policyOfKept = async (image: ImageRow) => {
    const { person, byAdmin } = await options.ownerOf(image)
    return policyFor(person, { reference: image.image, byAdmin })
  }
  const keeper = new ImageMaintenance({ ...options, pruner, kept: new KeptImagePuller({ ...options, pulls, policyOf: policyOfKept }) })
  const policyOf = ({ image, byAdmin, person }: ImageRequest) => policyFor(person, { reference: image.image, byAdmin })

  return {
    policyFor,
    refusal(reference) {
      const parsed = normalizeOciReference(reference)
      return parsed && registries.denialReason(parsed)
    },
    describe: (person, wanted) => engine.image(wanted.reference, policyFor(person, wanted)),
    async state(wanted) {
      const reference = wanted.image.image
      const facts = await engine.image(reference, policyOf(wanted))
      const isPulling = pulls.isPulling(wanted.person.userId, reference)
      return { facts, types: facts ? suggestTypes(reference, facts) : [], isPulling }
    },
    pull: (wanted, actor) => pulls.pull({ image: wanted.image, userId: wanted.person.userId, policy: policyOf(wanted), actor }),
    startKeeping: () => keeper.start(),
    recheckKept: () => keeper.wake(),
    recordUse: (digest) => pruner.recordUse(digest),
    decidePruning: (rules) => pruner.decide(rules),
    pruneRules: options.pruneRules,
    async [Symbol.asyncDispose]() {
      await Promise.all([pulls[Symbol.asyncDispose](), keeper[Symbol.asyncDispose]()])
    },
  }
}

import { normalizeOciReference, type ProjectType } from "#contract"
import type { Engine, ImageInfo, ImagePolicy, MakeRoom, RegistryAllowlist } from "#engine"
import type { Actor, Events } from "#events"
import type { Clock, Logger } from "#kit"
import type { ImageRow, Store } from "#store"
import { type CredentialEntry, CredentialRules, type ImageUser } from "./credential-rules.ts"
import { ImageMaintenance } from "./image-maintenance.ts"
import { ImagePruner } from "./image-pruner.ts"
import { KeptImagePuller } from "./kept-images.ts"
import type { PruneDecision, PruneRules } from "./prune-policy.ts"
import { ImagePulls } from "./pulls.ts"
import { RegistryArchitectures } from "./registry-architectures.ts"
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
  /** While another process keeps and prunes images, this one does not. Default: always. */
  isLeader?: () => boolean
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
  /** As `Images.architecture`. */
  architecture: string
  types: ProjectType[]
  isPulling: boolean
}

/** The policy of container images, and pulls on request. */
export interface Images extends AsyncDisposable {
  /** The reason why nobody may pull this reference here; undefined: it is allowed. */
  refusal(reference: string): string | undefined
  /** The policy by which a person may have an image now. */
  policyFor(person: ImageUser, wanted: { reference: string; byAdmin: boolean }): ImagePolicy
  /**
   * The kind of processor of the image as the engine has it, or as its registry would hand it out;
   * empty if neither tells. Rejects with an `EngineError` if the person may not have the image.
   */
  architecture(person: ImageRequest["person"], wanted: { reference: string; byAdmin: boolean }): Promise<string>
  /** Rejects with an `EngineError`. */
  state(wanted: ImageRequest): Promise<ImageState>
  /**
   * Pulls the image, also after the caller disconnects. Rejects with an `EngineError`; throws a
   * `Failure` at once when the person has too many pulls.
   */
  pull(wanted: ImageRequest, actor: Actor): Promise<ImageInfo>
  /** As `MakeRoom` of the engine. */
  makeRoom: MakeRoom
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

  const architectures = new RegistryArchitectures(options)
  const architectureOf = (facts: ImageInfo | undefined, userId: number, reference: string, policy: ImagePolicy) =>
    facts ? facts.architecture : architectures.find(userId, reference, policy)

  return {
    policyFor,
    refusal(reference) {
      const parsed = normalizeOciReference(reference)
      return parsed && registries.denialReason(parsed)
    },
    async architecture(person, wanted) {
      const policy = policyFor(person, wanted)
      return architectureOf(await engine.image(wanted.reference, policy), person.userId, wanted.reference, policy)
    },
    async state(wanted) {
      const reference = wanted.image.image
      const policy = policyOf(wanted)
      const facts = await engine.image(reference, policy)
      const architecture = await architectureOf(facts, wanted.person.userId, reference, policy)
      const isPulling = pulls.isPulling(wanted.person.userId, reference)
      return { facts, architecture, types: facts ? suggestTypes(reference, facts) : [], isPulling }
    },
    pull: (wanted, actor) =>
      pulls.pull({ image: wanted.image, userId: wanted.person.userId, owner: wanted.person.userName, policy: policyOf(wanted), actor }),
    makeRoom: (request) => pruner.makeRoom(request),
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

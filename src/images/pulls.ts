import { bounds, Failure, type Progress, type Reason, reasonMessages } from "#contract"
import { type Engine, EngineError, type ImageInfo, type ImagePolicy } from "#engine"
import type { Actor, Events } from "#events"
import { type Clock, IdleTimeout, type Logger } from "#kit"
import type { ImageRow, Store } from "#store"

/** As for a run: the longest time without data. */
const idleTimeoutMs = 120_000
const progressEveryMs = 1_000
const maxPullsPerPerson = bounds.containers.pullsOfPerson.value
/** No person has this ID. */
const serviceUserId = 0

export interface ImagePullsOptions {
  engine: Engine
  store: Store
  events: Events
  clock: Clock
  logger: Logger
}

export interface PullRequest {
  image: ImageRow
  userId: number
  /** The person's name; empty for Quayside itself. */
  owner: string
  policy: ImagePolicy
  /** Absent: Quayside itself fetches it, and no audit names it. */
  actor?: Actor
}

/** Requested pulls. They continue after their caller disconnects, and end with the service. */
export class ImagePulls implements AsyncDisposable {
  readonly #options: ImagePullsOptions
  /** By person and reference. */
  readonly #underWay = new Map<string, Promise<ImageInfo>>()
  readonly #closing = new AbortController()

  constructor(options: ImagePullsOptions) {
    this.#options = options
  }

  isPulling(userId: number, reference: string): boolean {
    return this.#underWay.has(keyOf(userId, reference))
  }

  /**
   * Joins the person's own pull of the same image if there is one. Rejects with an `EngineError`;
   * throws a `Failure` at once when the person has too many.
   */
  pull(request: PullRequest): Promise<ImageInfo> {
    const key = keyOf(request.userId, request.image.image)
    const known = this.#underWay.get(key)
    if (known) return known
    const own = [...this.#underWay.keys()].filter((each) => each.startsWith(`${request.userId} `))
    if (own.length >= maxPullsPerPerson) {
      const msg = `${maxPullsPerPerson} images are being fetched for you already; wait for one of them`
      throw new Failure("too_many_requests", msg, { headers: { "Retry-After": "10" } })
    }
    return this.#begin(key, request)
  }

  /** Fetches an image that administrators keep present. The caller limits how many at once. */
  keep(image: ImageRow, policy: ImagePolicy): Promise<ImageInfo> {
    const key = keyOf(serviceUserId, image.image)
    return this.#underWay.get(key) ?? this.#begin(key, { image, userId: serviceUserId, owner: "", policy })
  }

  #begin(key: string, request: PullRequest): Promise<ImageInfo> {
    const pulling = this.#run(request).finally(() => this.#underWay.delete(key))
    pulling.catch(() => {})
    this.#underWay.set(key, pulling)
    return pulling
  }

  async #run(request: PullRequest): Promise<ImageInfo> {
    const { engine, clock, events, store } = this.#options
    const { image, policy, owner, actor } = request
    const late = new AbortController()
    using idleTimeout = new IdleTimeout(clock, () => late.abort(new EngineError("timeout_pulling", reasonMessages.timeout_pulling)))
    let reportedAt = 0
    const report = (progress: Progress | null) => {
      idleTimeout.refresh()
      if (clock.now() - reportedAt < progressEveryMs) return
      reportedAt = clock.now()
      void this.#publishProgress(image, { State: "pulling", Progress: progress, Reason: null })
    }
    if (actor) await store.change((tx) => events.imagePullRequested(tx, actor, image))
    idleTimeout.start(idleTimeoutMs)
    try {
      const facts = await engine.pull(image.image, { policy, owner, report, signal: AbortSignal.any([late.signal, this.#closing.signal]) })
      await this.#publishProgress(image, { State: "present", Progress: null, Reason: null })
      return facts
    } catch (error) {
      await this.#publishProgress(image, { State: "failed", Progress: null, Reason: this.#reasonOf(error) })
      throw error
    }
  }

  #reasonOf(error: unknown): Reason {
    if (!(error instanceof EngineError)) return { code: "image_pull_failed", msg: reasonMessages.image_pull_failed }
    if (error.detail !== undefined) this.#options.logger.warn({ code: error.code, detail: error.detail }, "an image was not pulled")
    return { code: error.code, msg: error.message }
  }

  /** A failed write of progress does not end the pull. */
  async #publishProgress(image: ImageRow, what: Parameters<Events["imagePullProgress"]>[2]): Promise<void> {
    const { store, events, logger } = this.#options
    const written = store.change((tx) => events.imagePullProgress(tx, image, what))
    await written.catch((err: unknown) => logger.warn({ err, image: image.id }, "the progress of a pull was not published"))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new EngineError("image_pull_failed", "Quayside stops; the image was not fetched"))
    await Promise.allSettled(this.#underWay.values())
  }
}

function keyOf(userId: number, reference: string): string {
  return `${userId} ${reference}`
}

import type { TrashedDirectory } from "../staging/trash.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { CountLane } from "./count-lane.ts"
import type { CountRequest } from "./counter-thread.ts"
import { quotaProjectId } from "./quota-project.ts"
import type { StorageAccount, StorageCount, StorageSettings } from "./storage.ts"
import { trashOf } from "./trash-parts.ts"

/** How long a person's counts have the other lane after a call of one waited. */
const heldForMs = 600_000

/**
 * Counts and labels stored files, in threads of the lowest priority. A program can keep the kernel
 * from reading its directories for seconds, and meanwhile a thread counts for nobody. So people
 * whose directories did that share a thread of their own.
 */
export class StorageCounter implements AsyncDisposable {
  readonly #settings: StorageSettings
  readonly #trash: () => readonly TrashedDirectory[]
  readonly #lane: CountLane
  readonly #heldLane: CountLane
  /** By user ID: until when a person's counts have the other lane, the earliest first. */
  readonly #heldUntil = new Map<number, number>()
  /** People all of whose files have the right project, as far as the last count knows. */
  readonly #labelled = new Set<number>()

  constructor(root: DirectoryHandle, settings: StorageSettings, trash: () => readonly TrashedDirectory[]) {
    this.#settings = settings
    this.#trash = trash
    this.#lane = new CountLane(root, settings)
    this.#heldLane = new CountLane(root, settings)
  }

  async count(account: StorageAccount): Promise<StorageCount> {
    const { firstProject, maxCountMs } = this.#settings
    const checksFiles = !this.#labelled.has(account.userId)
    const project = firstProject === undefined ? undefined : quotaProjectId(account.userId, firstProject)
    const labels = project === undefined ? undefined : { project, firstProject, checksFiles }
    const count = await this.#scan({ account, trash: trashOf(account, this.#trash()), labels, maxMs: maxCountMs })
    if (count.isComplete && count.refused === 0) this.#labelled.add(account.userId)
    else this.#labelled.delete(account.userId)
    return count
  }

  /** Gives everything below a path the ID of a project, and returns how many entries it refused. */
  async label(path: string, project: number): Promise<number> {
    const account = { name: "", userId: 0, roots: [path], excluded: [], subAreas: [] }
    const { refused } = await this.#scan({ account, trash: [], labels: { project, checksFiles: true }, maxMs: Number.POSITIVE_INFINITY })
    return refused
  }

  async #scan(request: Omit<CountRequest, "id" | "endsWhenHeld">): Promise<StorageCount> {
    const { userId } = request.account
    if (!this.#isHeld(userId)) {
      const { count, isHeld, isCutOff } = await this.#lane.scan({ ...request, endsWhenHeld: true })
      if (isHeld) this.#heldUntil.set(userId, performance.now() + heldForMs)
      if (!isCutOff) return count
    }
    return (await this.#heldLane.scan({ ...request, endsWhenHeld: false })).count
  }

  #isHeld(userId: number): boolean {
    const now = performance.now()
    for (const [id, until] of this.#heldUntil) {
      if (until > now) break
      this.#heldUntil.delete(id)
    }
    return this.#heldUntil.has(userId)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#lane[Symbol.asyncDispose](), this.#heldLane[Symbol.asyncDispose]()])
  }
}

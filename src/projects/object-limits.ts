import type { Caller } from "#access"
import { bounds, type EffectiveLimits, Failure } from "#contract"
import type { Clock } from "#kit"
import { type GroupQuota, loadLimits } from "#runs"
import type { Reads } from "#store"

type Readable = Pick<Reads, "users" | "groups">

/** What was counted is believed for so long; other processes may make resources meanwhile. */
const believedMs = 10_000
/** Of the room that is left only this part is given away without counting again. */
const share = 4
const peopleMax = 10_000
const deletedMax = bounds.runs.deletedObjects.value

/**
 * Refuses what is beyond `MaxObjects`. Few requests count: who is far from the limit gets a part of
 * the room in advance.
 */
export class ObjectLimits {
  readonly #clock: Clock
  readonly #defaults: EffectiveLimits
  readonly #advances = new Map<number, { left: number; until: number }>()

  constructor(clock: Clock, defaults: EffectiveLimits) {
    this.#clock = clock
    this.#defaults = defaults
  }

  /** Limits or groups have changed. */
  reset(): void {
    this.#advances.clear()
  }

  /**
   * Throws `Failure` (403) when the owner has no room for one more resource. Administrators may
   * give people more than their limit.
   */
  async checkRoom(tx: Readable, caller: Caller, ownerId: number, { isRestored = false } = {}): Promise<void> {
    if (caller.isAdmin) return
    const advance = this.#advances.get(ownerId)
    if (advance && advance.left > 0 && advance.until > this.#clock.now()) advance.left -= 1
    else this.#advance(ownerId, await this.#count(tx, ownerId, isRestored))
  }

  #advance(ownerId: number, left: number): void {
    this.#advances.delete(ownerId)
    this.#advances.set(ownerId, { left: Math.floor(left / share), until: this.#clock.now() + believedMs })
    if (this.#advances.size > peopleMax) this.#advances.delete(this.#advances.keys().next().value ?? -1)
  }

  /** How many more resources there is room for beside the next one. */
  async #count(tx: Readable, ownerId: number, isRestored: boolean): Promise<number> {
    const { limits, quotas } = await loadLimits(tx, [ownerId], this.#defaults)
    const limit = (limits.get(ownerId) ?? this.#defaults).MaxObjects
    const { live, deleted } = await tx.users.objects(ownerId)
    if (limit !== null && live >= limit) throw full(`${count(live)}, and the limit (MaxObjects) is ${limit.toLocaleString("en")}`)
    if (limit !== null && !isRestored && deleted >= deletedMax) throw tooManyDeleted(deleted)
    const shared = quotas.filter((cap) => typeof cap.limits.MaxObjects === "number")
    for (const cap of shared) await demandShared(tx, cap)
    if (shared.length > 0) return 0
    return limit === null ? Number.MAX_SAFE_INTEGER : Math.min(limit - live, deletedMax - deleted) - 1
  }
}

async function demandShared(tx: Readable, { groupName, limits, members }: GroupQuota): Promise<void> {
  const limit = limits.MaxObjects ?? Number.POSITIVE_INFINITY
  let live = 0
  for (const name of members) {
    const member = await tx.users.byName(name)
    if (member) live += (await tx.users.objects(member.id)).live
  }
  if (live >= limit)
    throw full(`${count(live)} of all members of ${groupName} together, and their limit (MaxObjects) is ${limit.toLocaleString("en")}`)
}

function count(live: number): string {
  return `There are ${live.toLocaleString("en")} images, datasets, projects, tokens and grants`
}

function full(text: string): Failure {
  return new Failure("forbidden", `${text}; delete some, or ask an administrator for a higher limit`)
}

function tooManyDeleted(deleted: number): Failure {
  const many = `There are ${deleted.toLocaleString("en")} deleted images, datasets, projects and their grants, and the limit is ${deletedMax.toLocaleString("en")}`
  return new Failure("forbidden", `${many}; restore and change one of them, or ask an administrator to set MaxObjects to null`)
}

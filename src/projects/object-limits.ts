import type { Caller } from "#access"
import { bounds, type EffectiveLimits, Failure } from "#contract"
import type { Clock } from "#kit"
import { type GroupQuota, loadLimits } from "#runs"
import type { Reads } from "#store"

type LimitReads = Pick<Reads, "users" | "groups">

/** How long a count is used. Other processes may make objects meanwhile. */
const cacheMs = 10_000
/** One part in this many of the remaining room is used without counting again. */
const reservedFraction = 4
const maxPeople = 10_000
const maxDeleted = bounds.runs.deletedObjects.value
const maxTextBytes = bounds.runs.ownedTextBytes.value
/** Objects with shorter texts are made without a count. All that a person may have take 90 MB. */
const shortTextBytes = 4_096

/** The bytes of a person's texts: of the last count and of later growth; undefined: no limit. */
interface CountedTexts {
  bytes: number | undefined
  until: number
}

/** Room that was there at the last count, for a person or a group. */
interface Reservation {
  left: number
  until: number
}

interface Room {
  left: number
  /** By the names of the person's groups with a limit for all members together. */
  groups: ReadonlyMap<string, number>
}

/**
 * Enforces `MaxObjects` and the bound of a person's texts. Most requests count nothing: a person
 * who is far from the limit reserves a part of the remaining room in advance, and so does a group,
 * whose members all use its part.
 */
export class ObjectLimits {
  readonly #clock: Clock
  readonly #defaults: EffectiveLimits
  readonly #reservations = new Map<number, Reservation & { groups: readonly string[] }>()
  readonly #groups = new Map<string, Reservation>()
  readonly #texts = new Map<number, CountedTexts>()

  constructor(clock: Clock, defaults: EffectiveLimits) {
    this.#clock = clock
    this.#defaults = defaults
  }

  /** Counts again after limits or groups have changed. */
  reset(): void {
    this.#reservations.clear()
    this.#groups.clear()
    this.#texts.clear()
  }

  /**
   * Throws `Failure` (403) when the owner has no room for one more object, or for its long texts of
   * `textBytes`. Administrators may give people more than their limit.
   */
  async checkRoom(tx: LimitReads, caller: Caller, ownerId: number, { isRestored = false, textBytes = 0 } = {}): Promise<void> {
    if (caller.isAdmin) return
    if (!this.#spendReserved(ownerId)) this.#reserve(ownerId, await this.#count(tx, ownerId, isRestored))
    await this.checkTextRoom(tx, caller, ownerId, { was: 0, now: textBytes })
  }

  /**
   * Throws `Failure` (403) when an object's long texts grow and the owner has no room for them.
   * `was` and `now` are their bytes before and after the change. All texts are counted at most once
   * in 10 s; only growth is added in between, since a change that shortens one may still fail.
   */
  async checkTextRoom(tx: LimitReads, caller: Caller, ownerId: number, { was, now }: { was: number; now: number }): Promise<void> {
    if (caller.isAdmin || now <= Math.max(was, shortTextBytes)) return
    const counted = this.#countedTexts(ownerId) ?? (await this.#countTexts(tx, ownerId))
    if (counted.bytes === undefined) return
    if (counted.bytes + now - was > maxTextBytes) throw tooMuchText(counted.bytes)
    counted.bytes += now - was
  }

  #countedTexts(ownerId: number): CountedTexts | undefined {
    const counted = this.#texts.get(ownerId)
    return counted && counted.until > this.#clock.now() ? counted : undefined
  }

  async #countTexts(tx: LimitReads, ownerId: number): Promise<CountedTexts> {
    const { limits } = await loadLimits(tx, [ownerId], this.#defaults)
    const isUnlimited = (limits.get(ownerId) ?? this.#defaults).MaxObjects === null
    const bytes = isUnlimited ? undefined : await tx.users.countTextBytes(ownerId)
    const counted = { bytes, until: this.#clock.now() + cacheMs }
    this.#texts.delete(ownerId)
    this.#texts.set(ownerId, counted)
    if (this.#texts.size > maxPeople) this.#texts.delete(this.#texts.keys().next().value ?? -1)
    return counted
  }

  #spendReserved(ownerId: number): boolean {
    const own = this.#reservations.get(ownerId)
    const all = own ? [own, ...own.groups.map((name) => this.#groups.get(name))] : []
    const usable = all.filter((each) => each !== undefined && each.left > 0 && each.until > this.#clock.now())
    if (all.length === 0 || usable.length < all.length) return false
    for (const each of usable) if (each) each.left -= 1
    return true
  }

  #reserve(ownerId: number, { left, groups }: Room): void {
    const reserved = (room: number) => ({ left: Math.floor(room / reservedFraction), until: this.#clock.now() + cacheMs })
    for (const [name, room] of groups) this.#groups.set(name, reserved(room))
    this.#reservations.delete(ownerId)
    this.#reservations.set(ownerId, { ...reserved(left), groups: [...groups.keys()] })
    if (this.#reservations.size > maxPeople) this.#reservations.delete(this.#reservations.keys().next().value ?? -1)
  }

  /** How many more objects there is room for after the next one. */
  async #count(tx: LimitReads, ownerId: number, isRestored: boolean): Promise<Room> {
    const { limits, quotas } = await loadLimits(tx, [ownerId], this.#defaults)
    const limit = (limits.get(ownerId) ?? this.#defaults).MaxObjects
    const { live, deleted } = await tx.users.countOwned(ownerId)
    if (limit !== null && live >= limit)
      throw limitReached(`${describeCount(live)}, and the limit (MaxObjects) is ${limit.toLocaleString("en")}`)
    if (limit !== null && !isRestored && deleted >= maxDeleted) throw tooManyDeleted(deleted)
    const groups = new Map<string, number>()
    for (const quota of quotas)
      if (typeof quota.limits.MaxObjects === "number") groups.set(quota.groupName, await countGroupRoom(tx, quota))
    return { left: limit === null ? Number.MAX_SAFE_INTEGER : Math.min(limit - live, maxDeleted - deleted) - 1, groups }
  }
}

async function countGroupRoom(tx: LimitReads, { groupName, limits, members }: GroupQuota): Promise<number> {
  const limit = limits.MaxObjects ?? Number.POSITIVE_INFINITY
  const live = await tx.users.countOwnedBy([...members])
  if (live >= limit)
    throw limitReached(
      `${describeCount(live)} of all members of ${groupName} together, and their limit (MaxObjects) is ${limit.toLocaleString("en")}`,
    )
  return limit - live - 1
}

function describeCount(live: number): string {
  return `There are ${live.toLocaleString("en")} images, datasets, projects, tokens and grants`
}

function limitReached(text: string): Failure {
  return new Failure("forbidden", `${text}; delete some, or ask an administrator for a higher limit`)
}

function tooManyDeleted(deleted: number): Failure {
  const text = `There are ${deleted.toLocaleString("en")} deleted images, datasets, projects and their grants, and the limit is ${maxDeleted.toLocaleString("en")}`
  return new Failure("forbidden", `${text}; restore and change one of them, or ask an administrator to set MaxObjects to null`)
}

function tooMuchText(bytes: number): Failure {
  const mib = (value: number) => `${Math.floor(value / 2 ** 20)} MiB`
  const text = `The texts of all images, datasets and projects, deleted ones too, have ${mib(bytes)}, and the limit is ${mib(maxTextBytes)}`
  return new Failure("forbidden", `${text}; shorten some, which counts after 10 s, or ask an administrator to set MaxObjects to null`)
}

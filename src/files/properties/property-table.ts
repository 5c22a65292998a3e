import { bounds } from "#contract"
import { escapeXml } from "../xml/xml.ts"

/** One change; a line of the log. */
export type PropertyChange =
  | { set: string; key: string; value: string }
  | { unset: string; key: string }
  | { forget: string }
  | { move: string; to: string }
  | { copy: string; to: string; deep: boolean }

/** How much of one owner's budget is used. */
interface Usage {
  bytes: number
  count: number
  readonly paths: Set<string>
}

const maxBytes = bounds.files.storedPropertyBytes.value
const maxCount = bounds.files.storedProperties.value
const maxEntryCharacters = bounds.files.entryProperties.value
/** Approximate memory of a property in addition to its texts. */
const overhead = 64

/**
 * The tree whose budget a path uses: a person's home, or any other directory at the top. Separate
 * budgets ensure that nobody uses up another person's.
 */
export function budgetOwner(path: string): string {
  const [, first = "", second = ""] = path.split("/", 3)
  return first === "users" && second !== "" ? `/users/${second}` : `/${first}`
}

/**
 * Stored properties by path, and the space that each owner's properties use. Only a change that
 * increases an owner's use can be rejected.
 */
export class PropertyTable {
  readonly #byPath = new Map<string, Map<string, string>>()
  readonly #usage = new Map<string, Usage>()

  get byPath(): ReadonlyMap<string, ReadonlyMap<string, string>> {
    return this.#byPath
  }

  has(path: string): boolean {
    return this.#within(path).length > 0
  }

  /**
   * Whether the path's owner has room in the budget to replace the present values with these.
   */
  hasRoomFor(path: string, changes: readonly { key: string; value: string | null }[]): boolean {
    const stored = this.#byPath.get(path)
    let [bytes, count] = [0, 0]
    for (const { key, value } of changes) {
      const before = stored?.get(key)
      if (before !== undefined) [bytes, count] = [bytes - costOf(path, key, before), count - 1]
      if (value !== null) [bytes, count] = [bytes + costOf(path, key, value), count + 1]
    }
    return this.#hasRoom(budgetOwner(path), bytes, count)
  }

  /**
   * Whether one entry may replace its present values with these: a response contains all of them
   * at once. A smaller set always fits.
   */
  fitsEntryLimit(path: string, changes: readonly { key: string; value: string | null }[]): boolean {
    const before = this.#byPath.get(path) ?? new Map<string, string>()
    const after = new Map(before)
    for (const { key, value } of changes) {
      if (value === null) after.delete(key)
      else after.set(key, value)
    }
    const size = answeredLength(after)
    return size <= maxEntryCharacters || size <= answeredLength(before)
  }

  /**
   * Whether the new owner's budget has room for the properties of a path and everything below it.
   * A move within one tree needs no room.
   */
  hasRoomAt(from: string, to: string, options: { deep: boolean; moves: boolean }): boolean {
    if (options.moves && budgetOwner(from) === budgetOwner(to)) return true
    let [bytes, count] = [0, 0]
    for (const path of options.deep ? this.#within(from) : [from]) {
      for (const [key, value] of this.#byPath.get(path) ?? []) {
        bytes += costOf(to + path.slice(from.length), key, value)
        count += 1
      }
    }
    return this.#hasRoom(budgetOwner(to), bytes, count)
  }

  #hasRoom(owner: string, bytes: number, count: number): boolean {
    const usage = this.#usage.get(owner)
    const fitsBytes = bytes <= 0 || (usage?.bytes ?? 0) + bytes <= maxBytes
    return fitsBytes && (count <= 0 || (usage?.count ?? 0) + count <= maxCount)
  }

  apply(entry: PropertyChange): void {
    if ("set" in entry) this.#set(entry.set, entry.key, entry.value)
    else if ("unset" in entry) this.#unset(entry.unset, entry.key)
    else if ("forget" in entry) for (const path of this.#within(entry.forget)) this.#forget(path)
    else if ("move" in entry) this.#transfer({ from: entry.move, to: entry.to, deep: true, moves: true })
    else this.#transfer({ from: entry.copy, to: entry.to, deep: entry.deep, moves: false })
  }

  #set(path: string, key: string, value: string): void {
    const stored = this.#byPath.get(path) ?? new Map<string, string>()
    this.#count(path, key, stored.get(key), value)
    this.#byPath.set(path, stored.set(key, value))
  }

  #unset(path: string, key: string): void {
    const stored = this.#byPath.get(path)
    const before = stored?.get(key)
    if (!stored || before === undefined) return
    stored.delete(key)
    if (stored.size === 0) this.#byPath.delete(path)
    this.#count(path, key, before, undefined)
  }

  #forget(path: string): void {
    for (const key of [...(this.#byPath.get(path)?.keys() ?? [])]) this.#unset(path, key)
  }

  #transfer(step: { from: string; to: string; deep: boolean; moves: boolean }): void {
    for (const path of this.#within(step.from)) {
      const stored = this.#byPath.get(path)
      if (!stored || !(step.deep || path === step.from)) continue
      for (const [key, value] of [...stored]) this.#set(step.to + path.slice(step.from.length), key, value)
      if (step.moves) this.#forget(path)
    }
  }

  #count(path: string, key: string, before: string | undefined, after: string | undefined): void {
    const owner = budgetOwner(path)
    const usage = this.#usage.get(owner) ?? { bytes: 0, count: 0, paths: new Set<string>() }
    this.#usage.set(owner, usage)
    if (before !== undefined) {
      usage.bytes -= costOf(path, key, before)
      usage.count -= 1
    }
    if (after !== undefined) {
      usage.bytes += costOf(path, key, after)
      usage.count += 1
      usage.paths.add(path)
    } else if (!this.#byPath.has(path)) usage.paths.delete(path)
    if (usage.count === 0) this.#usage.delete(owner)
  }

  /**
   * The path and the paths below it that have properties. Searches only the owner's tree, unless
   * the path contains the trees of several owners.
   */
  #within(path: string): string[] {
    const holdsOwners = path === "/" || path === "/users"
    const paths = holdsOwners ? this.#byPath.keys() : (this.#usage.get(budgetOwner(path))?.paths ?? [])
    return [...paths].filter((one) => isWithin(one, path))
  }
}

const isWithin = (one: string, path: string): boolean => one === path || one.startsWith(path === "/" ? "/" : `${path}/`)

/** Approximate length of a response with all properties. Values are stored as XML. */
function answeredLength(stored: ReadonlyMap<string, string>): number {
  let length = 0
  for (const [key, value] of stored) length += escapeXml(key).length + value.length + overhead
  return length
}

const costOf = (path: string, key: string, value: string): number => path.length + key.length + value.length + overhead

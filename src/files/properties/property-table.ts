import { bounds } from "#contract"
import { escapeXml } from "../xml/xml.ts"
import { costAt, overhead, type PropertyNode, PropertyTree } from "./property-tree.ts"

/** One change; a line of the log. Older logs have copies, too. */
export type PropertyChange =
  | { set: string; key: string; value: string }
  | { unset: string; key: string }
  | { forget: string }
  | { move: string; to: string }
  | { copy: string; to: string; deep: boolean }

/** Stored properties by path. */
export interface StoredProperties extends Iterable<[string, ReadonlyMap<string, string>]> {
  get(path: string): ReadonlyMap<string, string> | undefined
}

interface Usage {
  bytes: number
  count: number
}

const maxBytes = bounds.files.storedPropertyBytes.value
const maxCount = bounds.files.storedProperties.value
const guestShare = bounds.files.guestPropertyPercent.value / 100
const maxEntryCharacters = bounds.files.entryProperties.value

const maxForOwner: Usage = { bytes: maxBytes, count: maxCount }
/** Owners have the rest to themselves. */
const maxForGuests: Usage = { bytes: maxBytes * guestShare, count: maxCount * guestShare }
const longestPathsMax: Usage = { bytes: 2 * maxBytes, count: maxCount }

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
 * increases an owner's use can be rejected. No change costs more than its own size and the names of
 * its paths, so that neither a request nor the log of many takes long.
 */
export class PropertyTable implements StoredProperties {
  readonly #tree = new PropertyTree()

  get isEmpty(): boolean {
    return this.#tree.find("/")?.count === 0
  }

  get(path: string): ReadonlyMap<string, string> | undefined {
    const properties = this.#tree.find(path)?.properties
    return properties && properties.size > 0 ? properties : undefined
  }

  [Symbol.iterator](): Iterator<[string, ReadonlyMap<string, string>]> {
    return this.#tree.entries()
  }

  /** The path and the paths below it that have properties. */
  entriesWithin(path: string): Iterable<[string, ReadonlyMap<string, string>]> {
    return this.#tree.entries(path)
  }

  has(path: string): boolean {
    return this.#tree.find(path) !== undefined
  }

  /**
   * Whether the path's owner has room in the budget to replace the present values with these, or
   * leaves so much to a guest.
   */
  hasRoomFor(path: string, changes: readonly { key: string; value: string | null }[], isGuest = false): boolean {
    const stored = this.get(path)
    let [bytes, count] = [0, 0]
    for (const { key, value } of changes) {
      const before = stored?.get(key)
      if (before !== undefined) [bytes, count] = [bytes - costOf(path, key, before), count - 1]
      if (value !== null) [bytes, count] = [bytes + costOf(path, key, value), count + 1]
    }
    if (count > 0) bytes += this.#tree.countMissing(path) * overhead
    return this.#hasRoom(budgetOwner(path), { bytes, count }, isGuest ? maxForGuests : maxForOwner)
  }

  /**
   * Whether one entry may replace its present values with these: a response contains all of them
   * at once. A smaller set always fits.
   */
  fitsEntryLimit(path: string, changes: readonly { key: string; value: string | null }[]): boolean {
    const before = this.get(path) ?? new Map<string, string>()
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
   * Within one tree, paths may become longer up to twice the budget.
   */
  hasRoomAt(from: string, to: string, isGuest = false): boolean {
    const node = this.#tree.find(from)
    if (!node) return true
    const bytes = costAt(node, to.length) + this.#tree.countMissing(to) * overhead
    if (budgetOwner(from) !== budgetOwner(to))
      return this.#hasRoom(budgetOwner(to), { bytes, count: node.count }, isGuest ? maxForGuests : maxForOwner)
    return this.#hasRoom(budgetOwner(to), { bytes: bytes - costAt(node, from.length), count: 0 }, longestPathsMax)
  }

  #hasRoom(owner: string, { bytes, count }: Usage, max: Usage): boolean {
    const usage = this.#usageOf(owner)
    return (bytes <= 0 || usage.bytes + bytes <= max.bytes) && (count <= 0 || usage.count + count <= max.count)
  }

  /** `/` and `/users` are no owners of what is below them. */
  #usageOf(owner: string): Usage {
    const node = this.#tree.find(owner)
    if (!node) return { bytes: 0, count: 0 }
    if (owner !== "/" && owner !== "/users") return { bytes: costAt(node, owner.length), count: node.count }
    return ownUsage(owner, node)
  }

  apply(entry: PropertyChange): void {
    const tree = this.#tree
    if ("set" in entry) tree.set(entry.set, entry.key, entry.value)
    else if ("unset" in entry) tree.unset(entry.unset, entry.key)
    else if ("forget" in entry) tree.remove(entry.forget)
    else if ("move" in entry) tree.move(entry.move, entry.to)
    else this.#copy(entry)
  }

  #copy({ copy: from, to, deep }: { copy: string; to: string; deep: boolean }): void {
    const all = deep ? [...this.#tree.entries(from)] : [[from, this.get(from) ?? new Map<string, string>()] as const]
    for (const [path, properties] of all) for (const [key, value] of properties) this.#tree.set(to + path.slice(from.length), key, value)
  }
}

function ownUsage(path: string, { properties }: PropertyNode): Usage {
  let bytes = overhead
  for (const [key, value] of properties) bytes += costOf(path, key, value)
  return { bytes, count: properties.size }
}

/** Approximate length of a response with all properties. Values are stored as XML. */
function answeredLength(stored: ReadonlyMap<string, string>): number {
  let length = 0
  for (const [key, value] of stored) length += escapeXml(key).length + value.length + overhead
  return length
}

const costOf = (path: string, key: string, value: string): number => path.length + key.length + value.length + overhead

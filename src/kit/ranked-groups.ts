/** Members by key, oldest first. Finds the key with the most members in constant time. */
export class RankedGroups<Key, Member> {
  readonly #groups = new Map<Key, Set<Member>>()
  /** The keys with n members, at index n. */
  readonly #keysBySize: (Set<Key> | undefined)[] = []
  #largest = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  sizeOf(key: Key): number {
    return this.#groups.get(key)?.size ?? 0
  }

  /** The key with the most members; of several, the one that has had this number for longest. */
  get largestKey(): Key | undefined {
    return this.#keysBySize[this.#largest]?.keys().next().value
  }

  /** Oldest first. */
  membersOf(key: Key): Iterable<Member> {
    return this.#groups.get(key) ?? []
  }

  add(key: Key, member: Member): void {
    let group = this.#groups.get(key)
    if (!group) {
      group = new Set()
      this.#groups.set(key, group)
    }
    group.add(member)
    this.#size += 1
    this.#place(key, group.size - 1, group.size)
  }

  remove(key: Key, member: Member): void {
    const group = this.#groups.get(key)
    if (!group?.delete(member)) return
    this.#size -= 1
    this.#place(key, group.size + 1, group.size)
    if (group.size === 0) this.#groups.delete(key)
  }

  #place(key: Key, before: number, now: number): void {
    const old = this.#keysBySize[before]
    old?.delete(key)
    if (old?.size === 0) this.#keysBySize[before] = undefined
    if (now > 0) {
      this.#keysBySize[now] ??= new Set()
      this.#keysBySize[now].add(key)
    }
    if (now > this.#largest) this.#largest = now
    while (this.#largest > 0 && this.#keysBySize[this.#largest] === undefined) this.#largest -= 1
  }
}

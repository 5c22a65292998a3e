import type { KubernetesObject } from "@kubernetes/client-node"

/** Objects by their names, and by the groups to which they belong. */
export class GroupedItems<T extends KubernetesObject> {
  readonly #groupOf: (item: T) => string | undefined
  readonly #items = new Map<string, T>()
  readonly #groups = new Map<string, Map<string, T>>()

  constructor(groupOf: (item: T) => string | undefined) {
    this.#groupOf = groupOf
  }

  get all(): ReadonlyMap<string, T> {
    return this.#items
  }

  get groups(): T[][] {
    return [...this.#groups.values()].map((members) => [...members.values()])
  }

  group(name: string): T[] {
    return [...(this.#groups.get(name)?.values() ?? [])]
  }

  /** Replaces the item of the same name. Returns the groups that changed. */
  set(item: T): string[] {
    const name = item.metadata?.name ?? ""
    const changed = this.remove(name)
    this.#items.set(name, item)
    const group = this.#groupOf(item)
    if (group === undefined) return changed
    const members = this.#groups.get(group) ?? new Map<string, T>()
    this.#groups.set(group, members.set(name, item))
    return changed.includes(group) ? changed : [...changed, group]
  }

  /** Returns the groups that changed. */
  remove(name: string): string[] {
    const item = this.#items.get(name)
    this.#items.delete(name)
    const group = item && this.#groupOf(item)
    if (group === undefined) return []
    const members = this.#groups.get(group)
    members?.delete(name)
    if (members?.size === 0) this.#groups.delete(group)
    return [group]
  }

  removeGroup(name: string): void {
    for (const each of this.#groups.get(name)?.keys() ?? []) this.#items.delete(each)
    this.#groups.delete(name)
  }

  clear(): void {
    this.#items.clear()
    this.#groups.clear()
  }
}

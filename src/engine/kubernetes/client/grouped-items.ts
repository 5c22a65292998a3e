import type { KubernetesObject } from "@kubernetes/client-node"

export interface GroupingOptions<T> {
  /** The group to which an item belongs. Default: there are no groups. */
  groupOf?: ((item: T) => string | undefined) | undefined
  /** The items that `selected` has. Default: none. */
  isSelected?: ((item: T) => boolean) | undefined
}

/** Objects by their names, and by the groups to which they belong. */
export class GroupedItems<T extends KubernetesObject> {
  readonly #options: GroupingOptions<T>
  readonly #items = new Map<string, T>()
  readonly #groups = new Map<string, Map<string, T>>()
  readonly #selected = new Set<T>()

  constructor(options: GroupingOptions<T>) {
    this.#options = options
  }

  get selected(): ReadonlySet<T> {
    return this.#selected
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
    if (this.#options.isSelected?.(item)) this.#selected.add(item)
    const group = this.#options.groupOf?.(item)
    if (group === undefined) return changed
    const members = this.#groups.get(group) ?? new Map<string, T>()
    this.#groups.set(group, members.set(name, item))
    return changed.includes(group) ? changed : [...changed, group]
  }

  /** Returns the groups that changed. */
  remove(name: string): string[] {
    const item = this.#items.get(name)
    if (item === undefined) return []
    this.#items.delete(name)
    this.#selected.delete(item)
    const group = this.#options.groupOf?.(item)
    if (group === undefined) return []
    const members = this.#groups.get(group)
    members?.delete(name)
    if (members?.size === 0) this.#groups.delete(group)
    return [group]
  }

  removeGroup(name: string): void {
    for (const each of [...(this.#groups.get(name)?.keys() ?? [])]) this.remove(each)
  }

  clear(): void {
    this.#items.clear()
    this.#groups.clear()
    this.#selected.clear()
  }
}

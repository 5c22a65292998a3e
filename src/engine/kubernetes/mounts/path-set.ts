import { splitPath } from "#kit"

/** Ends each name of a key. No name has it, and no other character is sorted before it. */
const end = "\0"

/** The key of a path. Those of the directories in it begin with it, and follow it when sorted. */
export function keyOf(path: string): string {
  return splitPath(path).map(keyOfName).join("")
}

export function keyOfName(name: string): string {
  return `${name}${end}`
}

export function namesOf(key: string): string[] {
  return key.split(end).slice(0, -1)
}

/**
 * Paths by their keys, each as often as it was added. The directories that lead to them take no
 * memory: a path may have hundreds.
 */
export class PathSet {
  readonly #sorted: string[]

  constructor(keys: readonly string[] = []) {
    this.#sorted = [...keys].sort()
  }

  add(key: string): void {
    this.#sorted.splice(this.#indexOf(key), 0, key)
  }

  /** Removes one of the key's entries, if there is one. */
  delete(key: string): void {
    const index = this.#indexOf(key)
    if (this.#sorted[index] === key) this.#sorted.splice(index, 1)
  }

  /** Whether one of the paths is this one or lies in it. */
  leadsToSome(key: string): boolean {
    return this.#sorted[this.#indexOf(key)]?.startsWith(key) === true
  }

  /** The index of the first key that is not before this one. */
  #indexOf(key: string): number {
    let [from, until] = [0, this.#sorted.length]
    while (from < until) {
      const middle = (from + until) >> 1
      if ((this.#sorted[middle] as string) < key) from = middle + 1
      else until = middle
    }
    return from
  }
}

interface PathLock {
  path: string
  /** On the clock of `performance.now()`. */
  expiresAt: number
}

interface Node<L> {
  name: string
  parent: Node<L> | undefined
  children: Map<string, Node<L>>
  locks: L[]
}

/**
 * Locks by path, as a tree of names. A lookup costs as much as the path has names, or as there are
 * locks below it, however many there are elsewhere. It removes the expired locks that it finds.
 */
export class LockTree<L extends PathLock> {
  readonly #root: Node<L> = { name: "", parent: undefined, children: new Map(), locks: [] }

  add(lock: L): void {
    let node = this.#root
    for (const name of namesIn(lock.path)) {
      const next: Node<L> = node.children.get(name) ?? { name, parent: node, children: new Map(), locks: [] }
      node.children.set(name, next)
      node = next
    }
    node.locks.push(lock)
  }

  remove(lock: L): void {
    const node = this.#nodesTo(lock.path)?.at(-1)
    if (!node) return
    node.locks = node.locks.filter((other) => other !== lock)
    prune(node)
  }

  /** Locks at the path itself. */
  at(path: string): L[] {
    const node = this.#nodesTo(path)?.at(-1)
    return node ? liveLocks(node) : []
  }

  /** Locks at the path and the directories above it, from the path upwards. */
  upwards(path: string): L[] {
    if (this.#root.children.size === 0) return liveLocks(this.#root)
    const nodes = [this.#root]
    for (const name of namesIn(path)) {
      const next = nodes.at(-1)?.children.get(name)
      if (!next) break
      nodes.push(next)
    }
    return nodes.reverse().flatMap((node) => liveLocks(node))
  }

  /** Locks strictly below the path. */
  below(path: string): L[] {
    const locks: L[] = []
    const pending = [...(this.#nodesTo(path)?.at(-1)?.children.values() ?? [])]
    for (let node = pending.pop(); node; node = pending.pop()) {
      for (const child of node.children.values()) pending.push(child)
      for (const lock of liveLocks(node)) locks.push(lock)
    }
    return locks
  }

  /** The nodes from the root to the path; undefined when the path has none. */
  #nodesTo(path: string): Node<L>[] | undefined {
    const nodes = [this.#root]
    for (const name of namesIn(path)) {
      const next = nodes.at(-1)?.children.get(name)
      if (!next) return undefined
      nodes.push(next)
    }
    return nodes
  }
}

const namesIn = (path: string): string[] => path.split("/").filter((name) => name !== "")

function liveLocks<L extends PathLock>(node: Node<L>): L[] {
  const now = performance.now()
  if (node.locks.some(({ expiresAt }) => expiresAt <= now)) {
    node.locks = node.locks.filter(({ expiresAt }) => expiresAt > now)
    prune(node)
  }
  return [...node.locks]
}

/** Removes a node that is empty, and the nodes above that become empty. */
function prune<L>(node: Node<L>): void {
  let here = node
  while (here.parent && here.locks.length === 0 && here.children.size === 0) {
    here.parent.children.delete(here.name)
    here = here.parent
  }
}

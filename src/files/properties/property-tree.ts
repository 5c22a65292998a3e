/** Sums over the properties of a directory and of everything below it. */
interface Totals {
  /** Names with properties at or below them. */
  nodes: number
  count: number
  /** Characters of keys and values. */
  characters: number
  /** Characters of the paths, relative to the directory, once for each property. */
  pathCharacters: number
}

/** A name that has properties, or has entries with properties below it. */
export interface PropertyNode extends Totals {
  name: string
  parent: PropertyNode | undefined
  readonly children: Map<string, PropertyNode>
  readonly properties: Map<string, string>
}

/** Approximate memory of a property, and of a name, in addition to their texts. */
export const overhead = 64

/**
 * Properties as a tree of names. A move, a removal and the cost of a subtree take as many steps as
 * the paths have names, however many properties there are.
 */
export class PropertyTree {
  readonly #root = createNode("", undefined)

  find(path: string): PropertyNode | undefined {
    let node: PropertyNode | undefined = this.#root
    for (const name of namesIn(path)) {
      node = node.children.get(name)
      if (!node) return undefined
    }
    return node
  }

  set(path: string, key: string, value: string): void {
    const node = this.#ensure(namesIn(path))
    const before = node.properties.get(key)
    node.properties.set(key, value)
    const characters = value.length - (before?.length ?? -key.length)
    addTotals(node, { nodes: 0, count: before === undefined ? 1 : 0, characters, pathCharacters: 0 })
  }

  unset(path: string, key: string): void {
    const node = this.find(path)
    const before = node?.properties.get(key)
    if (!node || before === undefined) return
    node.properties.delete(key)
    addTotals(node, { nodes: 0, count: -1, characters: -key.length - before.length, pathCharacters: 0 })
    prune(node)
  }

  /** Removes the properties of the path and of everything below it. */
  remove(path: string): void {
    const node = this.find(path)
    if (node) detach(node)
  }

  /** Moves the same, and replaces what is at the target. */
  move(path: string, to: string): void {
    const names = namesIn(to)
    const name = names.pop()
    if (name === undefined || `${to}/`.startsWith(`${path}/`)) return
    this.remove(to)
    const node = this.find(path)
    if (!node?.parent) return
    detach(node)
    const parent = this.#ensure(names)
    node.name = name
    node.parent = parent
    parent.children.set(name, node)
    addTotals(parent, totalsBelow(node, 1))
  }

  /** How many names of the path are not in the tree. */
  countMissing(path: string): number {
    const names = namesIn(path)
    let [node, found]: [PropertyNode | undefined, number] = [this.#root, 0]
    for (const name of names) {
      node = node.children.get(name)
      if (!node) break
      found += 1
    }
    return names.length - found
  }

  /** Every path with properties, and its properties. */
  *entries(path = "/"): Generator<[string, PropertyNode["properties"]]> {
    const first = this.find(path)
    const pending: [string, PropertyNode][] = first ? [[path, first]] : []
    for (let next = pending.pop(); next; next = pending.pop()) {
      const [here, node] = next
      if (node.properties.size > 0) yield [here, node.properties]
      const above = here === "/" ? "" : here
      for (const child of [...node.children.values()].reverse()) pending.push([`${above}/${child.name}`, child])
    }
  }

  /** The node of a path; makes the missing ones. */
  #ensure(names: readonly string[]): PropertyNode {
    let node = this.#root
    const made: PropertyNode[] = []
    for (const name of names) {
      let next = node.children.get(name)
      if (!next) {
        next = createNode(name, node)
        node.children.set(name, next)
        made.push(next)
      }
      node = next
    }
    for (const [i, each] of made.entries()) each.nodes = made.length - i
    addTotals(made[0]?.parent, { nodes: made.length, count: 0, characters: 0, pathCharacters: 0 })
    return node
  }
}

/** The cost of a subtree if it were at a path of this length. */
export function costAt({ nodes, count, characters, pathCharacters }: Totals, pathLength: number): number {
  return characters + pathCharacters + count * (pathLength + overhead) + nodes * overhead
}

const namesIn = (path: string): string[] => path.split("/").filter((name) => name !== "")

function createNode(name: string, parent: PropertyNode | undefined): PropertyNode {
  return { name, parent, children: new Map(), properties: new Map(), nodes: 1, count: 0, characters: 0, pathCharacters: 0 }
}

/** The sums that a node adds to its parent, or takes from it. */
function totalsBelow({ name, nodes, count, characters, pathCharacters }: PropertyNode, sign: 1 | -1): Totals {
  return {
    nodes: sign * nodes,
    count: sign * count,
    characters: sign * characters,
    pathCharacters: sign * (pathCharacters + count * (name.length + 1)),
  }
}

/** Adds to the node and to all above it. */
function addTotals(node: PropertyNode | undefined, { nodes, count, characters, pathCharacters }: Totals): void {
  let longer = pathCharacters
  for (let here = node; here; here = here.parent) {
    here.nodes += nodes
    here.count += count
    here.characters += characters
    here.pathCharacters += longer
    longer += count * (here.name.length + 1)
  }
}

/** Takes a subtree out of the tree; the root stays. */
function detach(node: PropertyNode): void {
  const { parent } = node
  if (!parent) return
  parent.children.delete(node.name)
  addTotals(parent, totalsBelow(node, -1))
  node.parent = undefined
  prune(parent)
}

/** Removes a node that is empty, and those above that become empty. */
function prune(node: PropertyNode): void {
  let [here, removed] = [node, 0]
  while (here.parent && here.properties.size === 0 && here.children.size === 0) {
    here.parent.children.delete(here.name)
    here = here.parent
    removed += 1
  }
  addTotals(here, { nodes: -removed, count: 0, characters: 0, pathCharacters: 0 })
}

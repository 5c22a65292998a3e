import { bounds } from "#contract"
import { invalid } from "../failures.ts"
import { child, DAV, type Element, elementsOf, isDav, parseXml } from "../xml/xml.ts"
import { keyOf, type PropertyName } from "./live-properties.ts"

/** What a PROPFIND asks for. */
export interface Wish {
  /**
   * `all`: the common properties and the ones of `names`; `names`: only which there are; `some`:
   * exactly those of `names`.
   */
  kind: "all" | "names" | "some"
  names: PropertyName[]
}

/** An empty body asks for all. */
export function readWish(body: Buffer): Wish {
  if (body.length === 0) return { kind: "all", names: [] }
  const root = parseXml(body)
  if (!isDav(root, "propfind")) throw invalid(`The body's element must be DAV: propfind, got ${JSON.stringify(root.name)}`)
  if (child(root, DAV, "propname")) return { kind: "names", names: [] }
  const include = child(root, DAV, "include")
  if (child(root, DAV, "allprop")) return { kind: "all", names: include ? namesIn(include) : [] }
  const prop = child(root, DAV, "prop")
  if (!prop) throw invalid("A propfind element holds one of allprop, propname and prop")
  return { kind: "some", names: namesIn(prop) }
}

const { propertyNames, propertyNameCharacters } = bounds.files

/**
 * Each once. An answer repeats them for every entry, so few and short ones are enough to make it
 * large.
 */
function namesIn(parent: Element): PropertyName[] {
  const names = new Map(elementsOf(parent).map(({ ns, name }) => [keyOf({ ns, name }), { ns, name }]))
  checkNames(names.size)
  const characters = [...names.values()].reduce((sum, { name }) => sum + name.length, 0)
  if (characters > propertyNameCharacters.value)
    throw invalid(`The names of properties may have ${propertyNameCharacters.value} characters together; these have ${characters}`)
  return [...names.values()]
}

export function checkNames(count: number): void {
  if (count > propertyNames.value) throw invalid(`A request may name ${propertyNames.value} properties; this one names ${count}`)
}

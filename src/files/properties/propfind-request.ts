import { bounds } from "#contract"
import { invalid } from "../failures.ts"
import { childElements, davNamespace, findChild, isDavElement, parseXml, type XmlElement } from "../xml/xml.ts"
import { type PropertyName, propertyKey } from "./live-properties.ts"

/** The properties that a PROPFIND requests. */
export interface PropfindRequest {
  /**
   * `all`: the common properties and those in `names`; `names`: only the names of properties;
   * `some`: exactly those in `names`.
   */
  kind: "all" | "names" | "some"
  names: PropertyName[]
}

/** An empty body requests all properties. */
export function parsePropfind(body: Buffer): PropfindRequest {
  if (body.length === 0) return { kind: "all", names: [] }
  const root = parseXml(body)
  if (!isDavElement(root, "propfind")) throw invalid(`The body's element must be DAV: propfind, got ${JSON.stringify(root.name)}`)
  if (findChild(root, davNamespace, "propname")) return { kind: "names", names: [] }
  const include = findChild(root, davNamespace, "include")
  if (findChild(root, davNamespace, "allprop")) return { kind: "all", names: include ? namesIn(include) : [] }
  const prop = findChild(root, davNamespace, "prop")
  if (!prop) throw invalid("A propfind element holds one of allprop, propname and prop")
  return { kind: "some", names: namesIn(prop) }
}

const { propertyNames, propertyNameCharacters } = bounds.files

/**
 * Removes duplicates. A response repeats the names for every entry, so even a few short ones can
 * make it large.
 */
function namesIn(parent: XmlElement): PropertyName[] {
  const names = new Map(childElements(parent).map(({ ns, name }) => [propertyKey({ ns, name }), { ns, name }]))
  checkPropertyCount(names.size)
  const characters = [...names.values()].reduce((sum, { name }) => sum + name.length, 0)
  if (characters > propertyNameCharacters.value)
    throw invalid(`The names of properties may have ${propertyNameCharacters.value} characters together; these have ${characters}`)
  return [...names.values()]
}

export function checkPropertyCount(count: number): void {
  if (count > propertyNames.value) throw invalid(`A request may name ${propertyNames.value} properties; this one names ${count}`)
}

import type { PropertyName } from "./properties.ts"
import { invalid } from "./refusal.ts"
import { child, DAV, elementsOf, isDav, parseXml } from "./xml.ts"

/** What a PROPFIND asks for. */
export interface Wish {
  /** `all`: the common properties and the ones of `names`; `names`: only which there are; `some`: exactly those of `names`. */
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
  if (child(root, DAV, "allprop")) return { kind: "all", names: include ? elementsOf(include).map(nameOf) : [] }
  const prop = child(root, DAV, "prop")
  if (!prop) throw invalid("A propfind element holds one of allprop, propname and prop")
  return { kind: "some", names: elementsOf(prop).map(nameOf) }
}

const nameOf = ({ ns, name }: PropertyName): PropertyName => ({ ns, name })

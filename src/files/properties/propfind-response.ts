import { encodeName } from "../requests/address.ts"
import type { Scene } from "../requests/dav-request.ts"
import { DAV, emptyElement, escapeXml } from "../xml/xml.ts"
import { keyOf, type LiveProperty, type PropertyName, type Resource } from "./live-properties.ts"
import type { Wish } from "./propfind-request.ts"

export interface ResponseRenderer {
  /** Declarations for the answer's outermost element. */
  namespaces: string
  response(resource: Resource): string
}

/**
 * Makes the function that writes one `response` element; what does not depend on the entry is
 * worked out once.
 */
export function responseRenderer(wish: Wish, scene: Scene): ResponseRenderer {
  const live = liveOnes(wish, scene)
  const namesOnly = wish.kind === "names"
  const prefixes = prefixesOf(wish, scene)
  const dead = deadRenderer(wish, scene, prefixes)
  const href = hrefs()
  const response = (resource: Resource) => {
    const parts = { found: "", absent: "" }
    for (const property of live) {
      const text = property.render(resource)
      if (text !== undefined) parts.found += namesOnly ? property.empty : text
      else if (wish.kind === "some") parts.absent += property.empty
    }
    dead(resource, parts)
    return responseElement(href(resource), parts)
  }
  const namespaces = [...prefixes].map(([ns, prefix]) => ` xmlns:${prefix}="${escapeXml(ns)}"`).join("")
  return { namespaces, response }
}

/** The namespaces that a caller names are declared once for the answer, and not with each entry. */
function prefixesOf(wish: Wish, { live }: Scene): ReadonlyMap<string, string> {
  const unknown = wish.kind === "some" ? wish.names.filter((name) => !live.has(keyOf(name))) : []
  const namespaces = new Set(unknown.map(({ ns }) => ns).filter((ns) => ns !== "" && ns !== DAV))
  return new Map([...namespaces].map((ns, i) => [ns, `n${i}`]))
}

interface Parts {
  found: string
  absent: string
}

function liveOnes(wish: Wish, { live }: Scene): LiveProperty[] {
  const named = wish.names.flatMap((name) => live.get(keyOf(name)) ?? [])
  if (wish.kind === "some") return named
  return [...live.values()].filter((property) => property.common || named.includes(property))
}

/** Properties that clients stored. Where there are none at all, nothing is looked up. */
function deadRenderer(
  wish: Wish,
  { live, properties }: Scene,
  prefixes: ReadonlyMap<string, string>,
): (resource: Resource, parts: Parts) => void {
  const store = properties.opened()
  if (wish.kind === "some") {
    const wanted = wish.names
      .filter((name) => !live.has(keyOf(name)))
      .map((name) => ({ key: keyOf(name), empty: emptyWith(prefixes, name) }))
    return ({ path }, parts) => {
      const stored = store?.get(path)
      for (const { key, empty } of wanted) {
        const value = stored?.get(key)
        if (value === undefined) parts.absent += empty
        else parts.found += value
      }
    }
  }
  const text = wish.kind === "names" ? emptyOf : (_key: string, value: string) => value
  return ({ path }, parts) => {
    for (const [key, value] of store?.get(path) ?? []) parts.found += text(key, value)
  }
}

function emptyWith(prefixes: ReadonlyMap<string, string>, { ns, name }: PropertyName): string {
  const prefix = prefixes.get(ns)
  return prefix === undefined ? emptyElement(ns, name) : `<${prefix}:${name}/>`
}

function emptyOf(key: string): string {
  const space = key.lastIndexOf(" ")
  return emptyElement(key.slice(0, space), key.slice(space + 1))
}

function responseElement(href: string, { found, absent }: Parts): string {
  let text = `<D:response><D:href>${href}</D:href>`
  if (found || !absent) text += `<D:propstat><D:prop>${found}</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>`
  if (absent) text += `<D:propstat><D:prop>${absent}</D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>`
  return `${text}</D:response>\n`
}

export function hrefOf({ path, directory }: Pick<Resource, "path" | "directory">): string {
  if (path === "/") return "/"
  const encoded = path.split("/").map(encodeName).join("/")
  return directory ? `${encoded}/` : encoded
}

/** As `hrefOf`; the directory above is encoded once for all entries of a listing. */
function hrefs(): (resource: Resource) => string {
  let above: string | undefined
  let encoded = ""
  return ({ path, name, directory }) => {
    if (path === "/") return "/"
    const parent = path.slice(0, path.length - name.length)
    if (parent !== above) {
      above = parent
      encoded = parent.split("/").map(encodeName).join("/")
    }
    return `${encoded}${encodeName(name)}${directory ? "/" : ""}`
  }
}

import { encodeName } from "../requests/address.ts"
import type { FilesContext } from "../requests/dav-request.ts"
import { davNamespace, emptyElementXml, escapeXml } from "../xml/xml.ts"
import { type DavResource, type LiveProperty, type PropertyName, propertyKey } from "./live-properties.ts"
import type { PropfindRequest } from "./propfind-request.ts"

export interface ResponseRenderer {
  /** Namespace declarations for the outermost element of the response. */
  namespaces: string
  response(resource: DavResource): string
}

/**
 * Creates the function that writes one `response` element. The parts that are the same for all
 * entries are computed once.
 */
export async function createResponseRenderer(propfind: PropfindRequest, context: FilesContext): Promise<ResponseRenderer> {
  const live = liveOnes(propfind, context)
  const namesOnly = propfind.kind === "names"
  const prefixes = prefixesOf(propfind, context)
  const dead = await deadRenderer(propfind, context, prefixes)
  const href = hrefs()
  const response = (resource: DavResource) => {
    const parts = { found: "", absent: "" }
    for (const property of live) {
      const text = property.render(resource)
      if (text !== undefined) parts.found += namesOnly ? property.emptyXml : text
      else if (propfind.kind === "some") parts.absent += property.emptyXml
    }
    dead(resource, parts)
    return responseElement(href(resource), parts)
  }
  const namespaces = [...prefixes].map(([ns, prefix]) => ` xmlns:${prefix}="${escapeXml(ns)}"`).join("")
  return { namespaces, response }
}

/** Declares the caller's namespaces once for the response, not once for each entry. */
function prefixesOf(propfind: PropfindRequest, { liveProperties }: FilesContext): ReadonlyMap<string, string> {
  const unknown = propfind.kind === "some" ? propfind.names.filter((name) => !liveProperties.has(propertyKey(name))) : []
  const namespaces = new Set(unknown.map(({ ns }) => ns).filter((ns) => ns !== "" && ns !== davNamespace))
  return new Map([...namespaces].map((ns, i) => [ns, `n${i}`]))
}

interface Parts {
  found: string
  absent: string
}

function liveOnes(propfind: PropfindRequest, { liveProperties }: FilesContext): LiveProperty[] {
  const named = propfind.names.flatMap((name) => liveProperties.get(propertyKey(name)) ?? [])
  if (propfind.kind === "some") return named
  return [...liveProperties.values()].filter((property) => property.isInAllprop || named.includes(property))
}

/** Properties that clients stored. Skips the lookup if the table is empty. */
async function deadRenderer(
  propfind: PropfindRequest,
  { liveProperties, deadProperties }: FilesContext,
  prefixes: ReadonlyMap<string, string>,
): Promise<(resource: DavResource, parts: Parts) => void> {
  const store = await deadProperties.all()
  const storedAt = ({ path, isReadable }: DavResource) => (isReadable ? store?.get(path) : undefined)
  if (propfind.kind === "some") {
    const wanted = propfind.names
      .filter((name) => !liveProperties.has(propertyKey(name)))
      .map((name) => ({ key: propertyKey(name), empty: emptyWith(prefixes, name) }))
    return (resource, parts) => {
      const stored = storedAt(resource)
      for (const { key, empty } of wanted) {
        const value = stored?.get(key)
        if (value === undefined) parts.absent += empty
        else parts.found += value
      }
    }
  }
  const text = propfind.kind === "names" ? emptyOf : (_key: string, value: string) => value
  return (resource, parts) => {
    for (const [key, value] of storedAt(resource) ?? []) parts.found += text(key, value)
  }
}

function emptyWith(prefixes: ReadonlyMap<string, string>, { ns, name }: PropertyName): string {
  const prefix = prefixes.get(ns)
  return prefix === undefined ? emptyElementXml(ns, name) : `<${prefix}:${name}/>`
}

function emptyOf(key: string): string {
  const space = key.lastIndexOf(" ")
  return emptyElementXml(key.slice(0, space), key.slice(space + 1))
}

function responseElement(href: string, { found, absent }: Parts): string {
  let text = `<D:response><D:href>${href}</D:href>`
  if (found || !absent) text += `<D:propstat><D:prop>${found}</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>`
  if (absent) text += `<D:propstat><D:prop>${absent}</D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>`
  return `${text}</D:response>\n`
}

/** Like `hrefOf` of addresses, but encodes the parent once for all entries of a listing. */
function hrefs(): (resource: DavResource) => string {
  let above: string | undefined
  let encoded = ""
  return ({ path, name, isDirectory }) => {
    if (path === "/") return "/"
    const parent = path.slice(0, path.length - name.length)
    if (parent !== above) {
      above = parent
      encoded = parent.split("/").map(encodeName).join("/")
    }
    return `${encoded}${encodeName(name)}${isDirectory ? "/" : ""}`
  }
}

import { encodeName } from "./address.ts"
import type { Scene } from "./call.ts"
import type { LiveProperties, PropertyName, Resource } from "./properties.ts"
import type { Wish } from "./wish.ts"
import { DAV, emptyElement } from "./xml.ts"

export type RenderResponse = (resource: Resource) => string

/** Makes the function that writes one `response` element; what does not depend on the entry is worked out once. */
export function responseRenderer(wish: Wish, scene: Scene): RenderResponse {
  const { live } = scene
  const wanted = wish.kind === "some" ? wish.names : [...common(live), ...wish.names]
  const known = wanted.filter(({ ns, name }) => ns === DAV && live.has(name))
  const unknown = wish.kind === "some" ? wanted.filter((one) => !known.includes(one)) : []
  const missing = unknown.map(({ ns, name }) => emptyElement(ns, name)).join("")
  const properties = known.flatMap(({ name }) => {
    const property = live.get(name)
    return property ? [{ name, render: wish.kind === "names" ? nameOnly(name, property.render) : property.render }] : []
  })
  return (resource) => {
    let found = ""
    let absent = missing
    for (const property of properties) {
      const text = property.render(resource)
      if (text !== undefined) found += text
      else if (wish.kind === "some") absent += `<D:${property.name}/>`
    }
    return responseElement(resource, found, absent)
  }
}

function common(live: LiveProperties): PropertyName[] {
  return [...live].filter(([, { common }]) => common).map(([name]) => ({ ns: DAV, name }))
}

function nameOnly(name: string, render: (resource: Resource) => string | undefined): (resource: Resource) => string | undefined {
  return (resource) => (render(resource) === undefined ? undefined : `<D:${name}/>`)
}

function responseElement(resource: Resource, found: string, absent: string): string {
  let text = `<D:response><D:href>${hrefOf(resource)}</D:href>`
  if (found || !absent) text += `<D:propstat><D:prop>${found}</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>`
  if (absent) text += `<D:propstat><D:prop>${absent}</D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>`
  return `${text}</D:response>\n`
}

export function hrefOf(resource: Pick<Resource, "path" | "directory">): string {
  if (resource.path === "/") return "/"
  const path = resource.path
    .split("/")
    .map((name) => (name === "" ? "" : encodeName(name)))
    .join("/")
  return resource.directory ? `${path}/` : path
}

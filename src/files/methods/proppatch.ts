import { bounds } from "#contract"
import { checkWrite, validatorsOf } from "../access/preconditions.ts"
import { readXml } from "../body.ts"
import { invalid } from "../failures.ts"
import { checkLocks } from "../locks/lock-check.ts"
import { overEntry } from "../properties/dead-properties.ts"
import { keyOf, type PropertyName } from "../properties/live-properties.ts"
import { checkNames } from "../properties/propfind-request.ts"
import { hrefOf } from "../properties/propfind-response.ts"
import type { Call } from "../requests/dav-request.ts"
import { answerXml } from "../respond.ts"
import { placeOfExisting } from "../tree/entry-location.ts"
import { child, DAV, type Element, elementsOf, emptyElement, isDav, parseXml, serializeXml } from "../xml/xml.ts"

interface Wanted extends PropertyName {
  /** Null removes it. */
  value: string | null
}

/** Stores and removes properties, all or none. */
export async function proppatch(call: Call): Promise<void> {
  await call.writable()
  call.proceed()
  const wanted = readUpdate(await readXml(call))
  const bytes = wanted.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
  // What is only removed needs no room.
  using _room = bytes > 0 ? await call.scene.storage.reserve(await call.account(), call.scene.root, { bytes }) : undefined
  const directory = checkTarget(call)
  const isProtected = (one: PropertyName) => one.ns === DAV
  const refused = wanted.some(isProtected)
  if (!refused)
    call.scene.properties.patch(
      call.path,
      wanted.map((one) => ({ key: keyOf(one), value: one.value })),
    )
  const stats = refused
    ? [
        propstat(wanted.filter(isProtected), protectedStatus),
        propstat(
          wanted.filter((one) => !isProtected(one)),
          failedStatus,
        ),
      ]
    : [propstat(wanted, "HTTP/1.1 200 OK")]
  const href = hrefOf({ path: call.path, directory })
  answerXml(
    call.response,
    207,
    `<D:multistatus xmlns:D="DAV:"><D:response><D:href>${href}</D:href>${stats.join("")}</D:response></D:multistatus>`,
  )
}

const protectedStatus = "HTTP/1.1 403 Forbidden"
const failedStatus = "HTTP/1.1 424 Failed Dependency"

function checkTarget(call: Call): boolean {
  if (call.names.length === 0) return true
  using place = placeOfExisting(call.scene.root, call.names)
  checkWrite(call.request.headers, validatorsOf(place.stats))
  checkLocks(call, [{ names: call.names, member: false, deep: false }])
  return place.stats.isDirectory()
}

/**
 * The instructions in their order; of several on one property the last counts. Each value declares
 * the namespaces that it uses, so a short body may make long ones: no more are made than an entry
 * may have.
 */
function readUpdate(body: Buffer): Wanted[] {
  const root = parseXml(body)
  if (!isDav(root, "propertyupdate")) throw invalid(`The body's element must be DAV: propertyupdate, got ${JSON.stringify(root.name)}`)
  const wanted = new Map<string, Wanted>()
  let characters = 0
  for (const step of elementsOf(root)) {
    const prop = child(step, DAV, "prop")
    if (!prop || !(isDav(step, "set") || isDav(step, "remove")))
      throw invalid("A propertyupdate element holds set and remove, each with one prop")
    for (const property of elementsOf(prop)) {
      const { ns, name } = property
      const value = isDav(step, "set") ? serializeXml(withLanguage(property, prop)) : null
      characters += value?.length ?? 0
      if (characters > bounds.files.entryProperties.value) throw overEntry()
      wanted.set(keyOf(property), { ns, name, value })
    }
  }
  checkNames(wanted.size)
  if (wanted.size === 0) throw invalid("The propertyupdate element names no property")
  return [...wanted.values()]
}

/** A language that is given for all of them is kept with each. */
function withLanguage(property: Element, prop: Element): Element {
  const isLanguage = ({ name }: { name: string }) => name === "lang"
  const language = prop.attributes.find(isLanguage)
  return language && !property.attributes.some(isLanguage) ? { ...property, attributes: [...property.attributes, language] } : property
}

function propstat(properties: readonly PropertyName[], status: string): string {
  if (properties.length === 0) return ""
  const names = properties.map(({ ns, name }) => emptyElement(ns, name)).join("")
  const error = status === protectedStatus ? "<D:error><D:cannot-modify-protected-property/></D:error>" : ""
  return `<D:propstat><D:prop>${names}</D:prop><D:status>${status}</D:status>${error}</D:propstat>`
}

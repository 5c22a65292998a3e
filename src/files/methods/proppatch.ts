import { bounds } from "#contract"
import { Yielder } from "#kit"
import { checkWritePreconditions, validatorsOf } from "../access/preconditions.ts"
import { invalid } from "../failures.ts"
import { checkLocks } from "../locks/lock-check.ts"
import { entryBudgetExceeded } from "../properties/dead-properties.ts"
import { type PropertyName, propertyKey } from "../properties/live-properties.ts"
import { checkPropertyCount } from "../properties/propfind-request.ts"
import { hrefOf } from "../requests/address.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { sendXml } from "../responses.ts"
import { locateExistingEntry } from "../tree/entry-location.ts"
import {
  childElements,
  davNamespace,
  emptyElementXml,
  findChild,
  isDavElement,
  parseXml,
  serializeXml,
  type XmlElement,
} from "../xml/xml.ts"
import { readXmlBody } from "./read-xml-body.ts"

interface Wanted extends PropertyName {
  /** Null removes it. */
  value: string | null
}

/** Stores and removes properties, all or none. */
export async function proppatch(request: DavRequest): Promise<void> {
  request.assertStillAllowed = () => request.assertWritable()
  await request.assertWritable()
  request.sendContinue()
  const wanted = readUpdate(await readXmlBody(request))
  // The body may have taken long.
  await request.assertWritable()
  const bytes = wanted.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
  // Removing properties needs no space.
  using _room = bytes > 0 ? await request.context.storage.reserve(await request.storageAccount(), request.root, { bytes }) : undefined
  const isGuest = !(await request.isOwner())
  const { deadProperties, staleProperties, scheduler } = request.context
  const changes = wanted.map((one) => ({ key: propertyKey(one), value: one.value }))
  if (!(await deadProperties.hasRoomFor(request.path, changes, { isGuest })))
    await staleProperties.removeAround(request.path, { root: request.root, yielder: new Yielder(scheduler, request.userId) })
  using _lock = await request.lockPaths(request.names)
  await request.assertWritable()
  const isDirectory = await checkPreconditionsAndLocks(request)
  // The look-ups may have waited for programs.
  await request.assertWritable()
  const isProtected = (one: PropertyName) => one.ns === davNamespace
  const refused = wanted.some(isProtected)
  const assertStillAllowed = async () => {
    await request.revalidate()
    await request.assertStillAllowed()
  }
  if (!refused) await deadProperties.patch(request.path, changes, { person: request.userId, isGuest, assertStillAllowed })
  const stats = refused
    ? [
        propstat(wanted.filter(isProtected), protectedStatus),
        propstat(
          wanted.filter((one) => !isProtected(one)),
          failedStatus,
        ),
      ]
    : [propstat(wanted, "HTTP/1.1 200 OK")]
  const href = hrefOf({ path: request.path, isDirectory })
  sendXml(
    request.response,
    207,
    `<D:multistatus xmlns:D="DAV:"><D:response><D:href>${href}</D:href>${stats.join("")}</D:response></D:multistatus>`,
  )
}

const protectedStatus = "HTTP/1.1 403 Forbidden"
const failedStatus = "HTTP/1.1 424 Failed Dependency"

async function checkPreconditionsAndLocks(request: DavRequest): Promise<boolean> {
  if (request.names.length === 0) return true
  using location = await locateExistingEntry(request.root, request.names)
  checkWritePreconditions(request.headers, validatorsOf(location.stats))
  await checkLocks(request, [{ names: request.names, changesParent: false, isDeep: false }])
  return location.stats.isDirectory()
}

/**
 * Reads the instructions in order; the last one for a property counts. Each value declares the
 * namespaces that it uses, so a short body may produce long values. Their total may not
 * exceed the limit of one entry.
 */
function readUpdate(body: Buffer): Wanted[] {
  const root = parseXml(body)
  if (!isDavElement(root, "propertyupdate"))
    throw invalid(`The body's element must be DAV: propertyupdate, got ${JSON.stringify(root.name)}`)
  const wanted = new Map<string, Wanted>()
  let characters = 0
  for (const step of childElements(root)) {
    const prop = findChild(step, davNamespace, "prop")
    if (!prop || !(isDavElement(step, "set") || isDavElement(step, "remove")))
      throw invalid("A propertyupdate element holds set and remove, each with one prop")
    for (const property of childElements(prop)) {
      const { ns, name } = property
      const value = isDavElement(step, "set") ? serializeXml(withLanguage(property, prop)) : null
      characters += value?.length ?? 0
      if (characters > bounds.files.entryProperties.value) throw entryBudgetExceeded()
      wanted.set(propertyKey(property), { ns, name, value })
    }
  }
  checkPropertyCount(wanted.size)
  if (wanted.size === 0) throw invalid("The propertyupdate element names no property")
  return [...wanted.values()]
}

/** A language given for all properties is stored with each. */
function withLanguage(property: XmlElement, prop: XmlElement): XmlElement {
  const isLanguage = ({ name }: { name: string }) => name === "lang"
  const language = prop.attributes.find(isLanguage)
  return language && !property.attributes.some(isLanguage) ? { ...property, attributes: [...property.attributes, language] } : property
}

function propstat(properties: readonly PropertyName[], status: string): string {
  if (properties.length === 0) return ""
  const names = properties.map(({ ns, name }) => emptyElementXml(ns, name)).join("")
  const error = status === protectedStatus ? "<D:error><D:cannot-modify-protected-property/></D:error>" : ""
  return `<D:propstat><D:prop>${names}</D:prop><D:status>${status}</D:status>${error}</D:propstat>`
}

import { type Stats, statfsSync } from "node:fs"
import { etagOf } from "../access/preconditions.ts"
import type { Locks } from "../locks/lock-table.ts"
import { lockDiscovery, supportedLock } from "../locks/lock-xml.ts"
import { kindOf } from "../methods/media-types.ts"
import type { Folder } from "../tree/directory-handle.ts"
import { DAV, emptyElement, escapeXml } from "../xml/xml.ts"

/** An entry as its properties are made from. */
export interface Resource {
  /** Absolute below the root, not encoded. */
  path: string
  name: string
  stats: Stats
  directory: boolean
}

export interface PropertyName {
  ns: string
  name: string
}

/** A property that the server itself keeps; none can be changed by PROPPATCH. */
export interface LiveProperty extends PropertyName {
  /** The element; undefined where this kind of entry has no such property. */
  render(resource: Resource): string | undefined
  /** The element without a value. */
  empty: string
  /** Whether `allprop` answers it. */
  common: boolean
}

export type LiveProperties = ReadonlyMap<string, LiveProperty>

export const keyOf = ({ ns, name }: PropertyName): string => `${ns} ${name}`

/** RFC 4918's, and the quota of RFC 4331. */
export function liveProperties(root: Folder, locks: Locks): LiveProperties {
  const all = [
    common("resourcetype", (one) => (one.directory ? "<D:resourcetype><D:collection/></D:resourcetype>" : "<D:resourcetype/>")),
    common("displayname", (one) => `<D:displayname>${escapeXml(one.name)}</D:displayname>`),
    common("creationdate", (one) => `<D:creationdate>${new Date(one.stats.birthtimeMs).toISOString()}</D:creationdate>`),
    common("getlastmodified", (one) => `<D:getlastmodified>${new Date(one.stats.mtimeMs).toUTCString()}</D:getlastmodified>`),
    ofFiles("getcontentlength", (one) => `<D:getcontentlength>${one.stats.size}</D:getcontentlength>`),
    ofFiles("getcontenttype", (one) => `<D:getcontenttype>${kindOf(one.name)}</D:getcontenttype>`),
    ofFiles("getetag", (one) => `<D:getetag>${escapeXml(etagOf(one.stats))}</D:getetag>`),
    common("supportedlock", () => supportedLock),
    common("lockdiscovery", (one) => lockDiscovery(locks.on(one.path), one.path)),
    ofDirectories("quota-available-bytes", () => `<D:quota-available-bytes>${room(root).free}</D:quota-available-bytes>`),
    ofDirectories("quota-used-bytes", () => `<D:quota-used-bytes>${room(root).used}</D:quota-used-bytes>`),
  ]
  return new Map(all.map((property) => [keyOf(property), property]))
}

type Render = LiveProperty["render"]

function common(name: string, render: Render): LiveProperty {
  return { ns: DAV, name, render, empty: emptyElement(DAV, name), common: true }
}

function ofFiles(name: string, render: Render): LiveProperty {
  return common(name, (one) => (one.directory ? undefined : render(one)))
}

/** Not answered unless asked for by name. */
function ofDirectories(name: string, render: Render): LiveProperty {
  return { ...common(name, (one) => (one.directory ? render(one) : undefined)), common: false }
}

function room(root: Folder): { free: number; used: number } {
  const { bavail, bfree, blocks, bsize } = statfsSync(root.self)
  return { free: bavail * bsize, used: (blocks - bfree) * bsize }
}

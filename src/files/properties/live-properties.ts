import { type Stats, statfsSync } from "node:fs"
import { etagOf } from "../access/preconditions.ts"
import type { LockTable } from "../locks/lock-table.ts"
import { lockDiscoveryXml, supportedLockXml } from "../locks/lock-xml.ts"
import { mediaTypeOf } from "../methods/media-types.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { davNamespace, emptyElementXml, escapeXml } from "../xml/xml.ts"

/** An entry as its properties are made from. */
export interface DavResource {
  /** Absolute below the root, not encoded. */
  path: string
  name: string
  stats: Stats
  isDirectory: boolean
}

export interface PropertyName {
  ns: string
  name: string
}

/** A property that the server itself keeps; none can be changed by PROPPATCH. */
export interface LiveProperty extends PropertyName {
  /** The element; undefined where this kind of entry has no such property. */
  render(resource: DavResource): string | undefined
  /** The element without a value. */
  emptyXml: string
  /** Whether `allprop` answers it. */
  isInAllprop: boolean
}

export type LiveProperties = ReadonlyMap<string, LiveProperty>

export const propertyKey = ({ ns, name }: PropertyName): string => `${ns} ${name}`

/** RFC 4918's, and the quota of RFC 4331. */
export function createLiveProperties(root: DirectoryHandle, locks: LockTable): LiveProperties {
  const all = [
    common("resourcetype", (one) => (one.isDirectory ? "<D:resourcetype><D:collection/></D:resourcetype>" : "<D:resourcetype/>")),
    common("displayname", (one) => `<D:displayname>${escapeXml(one.name)}</D:displayname>`),
    common("creationdate", (one) => `<D:creationdate>${new Date(one.stats.birthtimeMs).toISOString()}</D:creationdate>`),
    common("getlastmodified", (one) => `<D:getlastmodified>${new Date(one.stats.mtimeMs).toUTCString()}</D:getlastmodified>`),
    ofFiles("getcontentlength", (one) => `<D:getcontentlength>${one.stats.size}</D:getcontentlength>`),
    ofFiles("getcontenttype", (one) => `<D:getcontenttype>${mediaTypeOf(one.name)}</D:getcontenttype>`),
    ofFiles("getetag", (one) => `<D:getetag>${escapeXml(etagOf(one.stats))}</D:getetag>`),
    common("supportedlock", () => supportedLockXml),
    common("lockdiscovery", (one) => lockDiscoveryXml(locks.locksBinding(one.path), one.path)),
    ofDirectories("quota-available-bytes", () => `<D:quota-available-bytes>${room(root).free}</D:quota-available-bytes>`),
    ofDirectories("quota-used-bytes", () => `<D:quota-used-bytes>${room(root).used}</D:quota-used-bytes>`),
  ]
  return new Map(all.map((property) => [propertyKey(property), property]))
}

type Render = LiveProperty["render"]

function common(name: string, render: Render): LiveProperty {
  return { ns: davNamespace, name, render, emptyXml: emptyElementXml(davNamespace, name), isInAllprop: true }
}

function ofFiles(name: string, render: Render): LiveProperty {
  return common(name, (one) => (one.isDirectory ? undefined : render(one)))
}

/** Not answered unless asked for by name. */
function ofDirectories(name: string, render: Render): LiveProperty {
  return { ...common(name, (one) => (one.isDirectory ? render(one) : undefined)), isInAllprop: false }
}

function room(root: DirectoryHandle): { free: number; used: number } {
  const { bavail, bfree, blocks, bsize } = statfsSync(root.path)
  return { free: bavail * bsize, used: (blocks - bfree) * bsize }
}

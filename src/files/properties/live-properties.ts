import { type Stats, statfsSync } from "node:fs"
import { etagOf } from "../access/preconditions.ts"
import type { LockTable } from "../locks/lock-table.ts"
import { lockDiscoveryXml, supportedLockXml } from "../locks/lock-xml.ts"
import { mediaTypeOf } from "../methods/media-types.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { davNamespace, emptyElementXml, escapeXml } from "../xml/xml.ts"

/** The facts about an entry that its live properties show. */
export interface DavResource {
  /** Absolute below the root, not encoded. */
  path: string
  name: string
  stats: Stats
  isDirectory: boolean
  /** Whether the caller may read it. One may only pass through others, to what lies below. */
  isReadable: boolean
}

export interface PropertyName {
  ns: string
  name: string
}

/** A property that the server computes; PROPPATCH cannot change it. */
export interface LiveProperty extends PropertyName {
  /** The element; undefined if this kind of entry lacks the property. */
  render(resource: DavResource): string | undefined
  /** The element without a value. */
  emptyXml: string
  /** Whether `allprop` includes it. */
  isInAllprop: boolean
}

export type LiveProperties = ReadonlyMap<string, LiveProperty>

export const propertyKey = ({ ns, name }: PropertyName): string => `${ns} ${name}`

/** Properties of RFC 4918, and the quota properties of RFC 4331. */
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
    common("lockdiscovery", (one) => lockDiscoveryXml(one.isReadable ? locks.locksBinding(one.path) : [], one.path)),
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

/** Returned only when a request names them. */
function ofDirectories(name: string, render: Render): LiveProperty {
  return { ...common(name, (one) => (one.isDirectory ? render(one) : undefined)), isInAllprop: false }
}

function room(root: DirectoryHandle): { free: number; used: number } {
  const { bavail, bfree, blocks, bsize } = statfsSync(root.path)
  return { free: bavail * bsize, used: (blocks - bfree) * bsize }
}

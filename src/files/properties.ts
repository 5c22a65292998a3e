import { type Stats, statfsSync } from "node:fs"
import { etagOf } from "./conditions.ts"
import type { Folder } from "./descriptor.ts"
import { kindOf } from "./kinds.ts"
import { DAV, escapeXml } from "./xml.ts"

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

interface Live {
  /** The element; undefined where this kind of entry has no such property. */
  render(resource: Resource): string | undefined
  /** Whether `allprop` answers it. */
  common: boolean
}

const file = (render: (resource: Resource) => string): Live => ({
  common: true,
  render: (one) => (one.directory ? undefined : render(one)),
})
const any = (render: (resource: Resource) => string): Live => ({ common: true, render })
const onRequest = (render: (resource: Resource) => string | undefined): Live => ({ common: false, render })

/** The properties that the server itself keeps: RFC 4918, and the quota of RFC 4331. Locks are added by `lockProperties`. */
export function liveProperties(root: Folder): Map<string, Live> {
  const properties: Record<string, Live> = {
    resourcetype: any((one) => (one.directory ? "<D:resourcetype><D:collection/></D:resourcetype>" : "<D:resourcetype/>")),
    displayname: any((one) => `<D:displayname>${escapeXml(one.name)}</D:displayname>`),
    creationdate: any((one) => `<D:creationdate>${new Date(one.stats.birthtimeMs).toISOString()}</D:creationdate>`),
    getlastmodified: any((one) => `<D:getlastmodified>${new Date(one.stats.mtimeMs).toUTCString()}</D:getlastmodified>`),
    getcontentlength: file((one) => `<D:getcontentlength>${one.stats.size}</D:getcontentlength>`),
    getcontenttype: file((one) => `<D:getcontenttype>${kindOf(one.name)}</D:getcontenttype>`),
    getetag: file((one) => `<D:getetag>${escapeXml(etagOf(one.stats))}</D:getetag>`),
    "quota-available-bytes": onRequest((one) =>
      one.directory ? `<D:quota-available-bytes>${room(root).free}</D:quota-available-bytes>` : undefined,
    ),
    "quota-used-bytes": onRequest((one) => (one.directory ? `<D:quota-used-bytes>${room(root).used}</D:quota-used-bytes>` : undefined)),
  }
  return new Map(Object.entries(properties))
}

function room(root: Folder): { free: number; used: number } {
  const { bavail, bfree, blocks, bsize } = statfsSync(root.self)
  return { free: bavail * bsize, used: (blocks - bfree) * bsize }
}

export const isLive = (properties: ReadonlyMap<string, Live>, wanted: PropertyName): boolean =>
  wanted.ns === DAV && properties.has(wanted.name)
export type LiveProperties = Map<string, Live>

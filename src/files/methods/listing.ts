import { isUtf8 } from "node:buffer"
import { bounds, type Failure } from "#contract"
import type { PathAccess } from "../access/authority.ts"
import { DavFailure, fileFailure, notFound } from "../failures.ts"
import type { DavResource } from "../properties/live-properties.ts"
import { isReservedName, joinPath } from "../requests/address.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { Yielder } from "../requests/yielder.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { locateExistingEntry } from "../tree/entry-location.ts"

export const depths = ["0", "1", "infinity"] as const
export type Depth = (typeof depths)[number]

/** Called for each entry; the walk waits for a returned promise. */
export type ListingVisitor = (resource: DavResource) => Promise<void> | undefined

const maxLevels = bounds.files.levels.value
/** Names of a traversed directory that one question to the authority covers. */
const batchSize = 500

interface Walk {
  request: DavRequest
  isDeep: boolean
  visit: ListingVisitor
  yielder: Yielder
}

/**
 * Visits the request's entry and, to the requested depth, everything below it that the caller may
 * see.
 */
export async function visitListing(
  request: DavRequest,
  options: { depth: Depth; level: PathAccess["level"]; visit: ListingVisitor },
): Promise<void> {
  const { depth, level, visit } = options
  const { names, context } = request
  if (names.length === 0) {
    await visit({ path: "/", name: "", stats: context.root.stat(), isDirectory: true })
    if (depth !== "0")
      await children(
        { request, isDeep: depth === "infinity", visit, yielder: new Yielder(context.scheduler, request.userId) },
        context.root,
        {
          names,
          level,
        },
      )
    return
  }
  using location = locateExistingEntry(context.root, names)
  const isDirectory = location.stats.isDirectory()
  if (!isDirectory && (request.address.hasTrailingSlash || level === "traverse")) throw notFound()
  await visit({ path: joinPath(names), name: location.name, stats: location.stats, isDirectory })
  if (depth === "0" || !isDirectory) return
  using folder = location.parent.openDirectory(location.name)
  await children({ request, isDeep: depth === "infinity", visit, yielder: new Yielder(context.scheduler, request.userId) }, folder, {
    names,
    level,
  })
}

async function children(walk: Walk, folder: DirectoryHandle, at: { names: readonly string[]; level: PathAccess["level"] }): Promise<void> {
  const entries = folder.readEntries()
  try {
    let some: string[] = []
    for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
      if (!isUtf8(entry.name)) continue
      const name = entry.name.toString()
      if (isReservedName(name, at.names.length)) continue
      if (at.level !== "traverse") {
        await child(walk, folder, { names: at.names, name, level: at.level })
        continue
      }
      some.push(name)
      if (some.length < batchSize) continue
      await visibleOnes(walk, folder, { names: at.names, some })
      some = []
    }
    if (some.length > 0) await visibleOnes(walk, folder, { names: at.names, some })
  } finally {
    entries.closeSync()
  }
}

async function visibleOnes(walk: Walk, folder: DirectoryHandle, at: { names: readonly string[]; some: string[] }): Promise<void> {
  const { request } = walk
  const accesses = await request.context.rights.fetchAccess(
    request.userId,
    at.some.map((name) => joinPath([...at.names, name])),
  )
  for (const [i, name] of at.some.entries()) {
    const level = accesses[i]?.level ?? "none"
    if (level !== "none") await child(walk, folder, { names: at.names, name, level })
  }
}

async function child(
  walk: Walk,
  folder: DirectoryHandle,
  at: { names: readonly string[]; name: string; level: PathAccess["level"] },
): Promise<void> {
  const stats = folder.lstat(at.name)
  const isDirectory = stats?.isDirectory() ?? false
  if (!stats || !(isDirectory || (stats.isFile() && at.level !== "traverse"))) return
  const parent = joinPath(at.names)
  const waiting =
    walk.visit({ path: parent === "/" ? `/${at.name}` : `${parent}/${at.name}`, name: at.name, stats, isDirectory }) ?? walk.yielder.pause()
  if (waiting) await waiting
  if (!walk.isDeep || !isDirectory) return
  if (at.names.length >= maxLevels) throw listingTooDeep()
  await below(walk, folder, at)
}

/** Skips an entry that vanished or became a link since it was looked at. */
async function below(
  walk: Walk,
  folder: DirectoryHandle,
  at: { names: readonly string[]; name: string; level: PathAccess["level"] },
): Promise<void> {
  let next: DirectoryHandle
  try {
    next = folder.openDirectory(at.name)
  } catch (error) {
    if (fileFailure(error)?.status === 503) throw error
    return
  }
  using held = next
  await children(walk, held, { names: [...at.names, at.name], level: at.level })
}

export const listingTooDeep = (): Failure =>
  new DavFailure("forbidden", "There is too much below this directory to be listed at once: use Depth 1", {
    condition: "<D:propfind-finite-depth/>",
  })

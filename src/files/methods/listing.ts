import { isUtf8 } from "node:buffer"
import { bounds, type Failure } from "#contract"
import { Yielder } from "#kit"
import type { PathAccess } from "../access/authority.ts"
import { DavFailure, fileFailure, notFound } from "../failures.ts"
import type { DavResource } from "../properties/live-properties.ts"
import { isReservedName, joinPath } from "../requests/address.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { EntryReader } from "../requests/entry-reader.ts"
import { locateExistingEntry } from "../tree/entry-location.ts"
import type { TreeDirectory } from "../tree/tree-directory.ts"

export const depths = ["0", "1", "infinity"] as const
export type Depth = (typeof depths)[number]

/** Called for each entry; the walk waits for a returned promise. */
export type ListingVisitor = (resource: DavResource) => Promise<void> | undefined

const maxLevels = bounds.files.levels.value

interface Walk {
  request: DavRequest
  isDeep: boolean
  visit: ListingVisitor
  yielder: Yielder
}

/**
 * Visits the request's entry (or that of other names) and, to the requested depth, everything below
 * it that the caller may see.
 */
export async function visitListing(
  request: DavRequest,
  options: { depth: Depth; level: PathAccess["level"]; visit: ListingVisitor; names?: readonly string[] },
): Promise<void> {
  const { depth, level, visit, names = request.names } = options
  const { context } = request
  const walk: Walk = { request, isDeep: depth === "infinity", visit, yielder: new Yielder(context.scheduler, request.userId) }
  if (names.length === 0) {
    await visit({ path: "/", name: "", stats: request.root.stat(), isDirectory: true, isReadable: level !== "traverse" })
    if (depth !== "0") await visitChildren(walk, request.root, { names, level })
    return
  }
  using location = await locateExistingEntry(request.root, names)
  const isDirectory = location.stats.isDirectory()
  if (!isDirectory && ((names === request.names && request.address.hasTrailingSlash) || level === "traverse")) throw notFound()
  await visit({ path: joinPath(names), name: location.name, stats: location.stats, isDirectory, isReadable: level !== "traverse" })
  if (depth === "0" || !isDirectory) return
  using directory = await location.parent.openDirectory(location.name)
  await visitChildren(walk, directory, { names, level })
}

/**
 * Visits some entries of the request's directory and everything below them. Entries that vanished
 * are left out. The directory is opened once, however many names deep it lies.
 */
export async function visitEntries(
  request: DavRequest,
  options: { entries: readonly string[]; level: PathAccess["level"]; visit: ListingVisitor },
): Promise<void> {
  const { entries, level, visit } = options
  const { context, names, root } = request
  const walk: Walk = { request, isDeep: true, visit, yielder: new Yielder(context.scheduler, request.userId) }
  using directory = await root.openDescendant(names)
  const reader = new EntryReader(directory, entries)
  for (const name of entries) await visitChild(walk, reader, { names, name, level })
}

async function visitChildren(
  walk: Walk,
  directory: TreeDirectory,
  at: { names: readonly string[]; level: PathAccess["level"] },
): Promise<void> {
  for await (const entries of directory.batches()) {
    const batch = entries.filter(({ name }) => isUtf8(name)).map(({ name }) => name.toString())
    const names = batch.filter((name) => !isReservedName(name, at.names.length))
    const reader = new EntryReader(directory, names)
    if (at.level === "traverse") await visitVisible(walk, reader, { names: at.names, batch: names })
    else for (const name of names) await visitChild(walk, reader, { names: at.names, name, level: at.level })
  }
}

/** An answer of the authority is used for so long: its reader may be slow. */
const maxAgeMs = 1_500

async function visitVisible(walk: Walk, reader: EntryReader, at: { names: readonly string[]; batch: string[] }): Promise<void> {
  const { request } = walk
  const pathTo = (name: string) => joinPath([...at.names, name])
  for (let rest = at.batch; rest.length > 0; ) {
    const until = performance.now() + maxAgeMs
    const accesses = await request.context.rights.fetchAccess(request.userId, rest.map(pathTo))
    let visited = 0
    do {
      const [name = "", level = "none"] = [rest[visited], accesses[visited]?.level]
      if (level !== "none") await visitWhileAllowed(walk, reader, { names: at.names, name, level })
      visited += 1
    } while (visited < rest.length && performance.now() < until)
    rest = rest.slice(visited)
  }
}

/** The request goes on only as long as the caller may see this entry, too. */
async function visitWhileAllowed(
  walk: Walk,
  reader: EntryReader,
  at: { names: readonly string[]; name: string; level: PathAccess["level"] },
): Promise<void> {
  const { request } = walk
  const { assertStillAllowed } = request
  request.assertStillAllowed = async () => {
    await assertStillAllowed()
    await request.assertVisible([...at.names, at.name])
  }
  try {
    await visitChild(walk, reader, at)
  } finally {
    request.assertStillAllowed = assertStillAllowed
  }
}

async function visitChild(
  walk: Walk,
  reader: EntryReader,
  at: { names: readonly string[]; name: string; level: PathAccess["level"] },
): Promise<void> {
  const stats = await reader.lstat(at.name)
  const isDirectory = stats?.isDirectory() ?? false
  if (!stats || !(isDirectory || (stats.isFile() && at.level !== "traverse"))) return
  const parent = joinPath(at.names)
  const path = parent === "/" ? `/${at.name}` : `${parent}/${at.name}`
  const visiting = walk.visit({ path, name: at.name, stats, isDirectory, isReadable: at.level !== "traverse" })
  if (visiting) await visiting
  const pause = walk.yielder.pause()
  if (pause) await pause
  if (!walk.isDeep || !isDirectory) return
  if (at.names.length >= maxLevels) throw listingTooDeep()
  await descend(walk, reader.directory, at)
}

/** Skips an entry that vanished or became a link since it was looked at. */
async function descend(
  walk: Walk,
  directory: TreeDirectory,
  at: { names: readonly string[]; name: string; level: PathAccess["level"] },
): Promise<void> {
  let next: TreeDirectory
  try {
    next = await directory.openDirectory(at.name)
  } catch (error) {
    if (fileFailure(error)?.status === 503) throw error
    return
  }
  using opened = next
  await visitChildren(walk, opened, { names: [...at.names, at.name], level: at.level })
}

export const listingTooDeep = (): Failure =>
  new DavFailure("forbidden", "There is too much below this directory to be listed at once: use Depth 1", {
    condition: "<D:propfind-finite-depth/>",
  })

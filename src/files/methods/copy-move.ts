import type { Stats } from "node:fs"
import { bounds, Failure } from "#contract"
import { Yielder } from "#kit"
import { checkWritePreconditions, validatorsOf } from "../access/preconditions.ts"
import { ClientGoneError, forbidden, invalid, notFound } from "../failures.ts"
import { checkLocks, type PlannedChange } from "../locks/lock-check.ts"
import type { StagedProperties } from "../properties/dead-properties.ts"
import { assertValidNewName, type FileAddress, joinPath, parseFileAddress } from "../requests/address.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { sendEmpty } from "../responses.ts"
import type { StagedEntry } from "../staging/staged-entry.ts"
import type { Reservation } from "../storage/reservation.ts"
import { copyEntry } from "../tree/copy-entry.ts"
import { CopyLimitError, type CopyTotals } from "../tree/copy-totals.ts"
import { type Entry, type EntryLocation, locateExistingEntry, locateNewEntry } from "../tree/entry-location.ts"
import { stateOfTree } from "../tree/measure-tree.ts"
import { canMove } from "../tree/move-entry.ts"

interface Transfer {
  request: DavRequest
  target: FileAddress
  mayOverwrite: boolean
  /** Whether a directory is copied without its contents. */
  isShallow: boolean
  isMove: boolean
  /** Whether the caller writes at the target by somebody's grant. */
  isGuest: boolean
  /** The accounts whose quotas count the source and the target; undefined: none. */
  accounts: { source: string | undefined; target: string | undefined }
}

/** Copies an entry; the copy becomes visible as a whole. */
export async function copy(request: DavRequest): Promise<void> {
  const transfer = await readTransfer(request, false)
  await copyInto(transfer)
}

/**
 * Moves an entry by renaming it. It copies instead when the target is on another file system or is
 * mounted by other runs: an open file or a second hard link would otherwise follow the entry there.
 */
export async function move(request: DavRequest): Promise<void> {
  const transfer = await readTransfer(request, true)
  if (transfer.isShallow) throw invalid("MOVE takes Depth: infinity only")
  const together = await request.context.rights.shareMountArea(request.names, transfer.target.names)
  if (!together || !(await tryRename(transfer))) await copyInto(transfer)
}

async function readTransfer(request: DavRequest, isMove: boolean): Promise<Transfer> {
  const assertSource = () => (isMove ? request.assertReplaceable() : request.assertReadable())
  await assertSource()
  const target = destinationOf(request)
  const depth = String(request.headers.depth ?? "infinity").toLowerCase()
  if (depth !== "0" && depth !== "infinity") throw invalid(`Depth must be 0 or infinity, got ${JSON.stringify(depth)}`)
  assertValidNewName(target.names)
  request.assertStillAllowed = async () => {
    await assertSource()
    await request.assertReplaceable(target.names)
  }
  await request.assertReplaceable(target.names)
  const [from, to] = [`${request.path}/`, `${joinPath(target.names)}/`]
  if (from === to) throw forbidden("Source and destination are the same")
  if (to.startsWith(from) && (isMove || depth === "infinity")) throw forbidden("The destination lies in the source")
  if (from.startsWith(to)) throw forbidden("The source lies in the destination")
  const mayOverwrite = String(request.headers.overwrite ?? "T").toUpperCase() !== "F"
  const accounts = { source: isMove ? await request.storageAccount() : undefined, target: await request.storageAccount(target.names) }
  const isGuest = !(await request.isOwner(joinPath(target.names)))
  return { request, target, mayOverwrite, isShallow: depth === "0", isMove, isGuest, accounts }
}

function destinationOf(request: DavRequest): FileAddress {
  const { destination } = request.headers
  if (destination === undefined || destination === "") throw invalid("The header Destination is missing")
  const authority = /^https?:\/\/([^/?#]*)/i.exec(String(destination))?.[1]
  if (authority !== undefined && !request.context.allowedHosts.has(authority)) {
    throw new Failure("invalid", "The destination is on another server", { status: 502 })
  }
  return parseFileAddress(String(destination))
}

interface Endpoints extends Disposable {
  source: EntryLocation & { stats: Stats }
  target: EntryLocation
}

/** Opens both endpoints and checks all preconditions and locks. */
async function checkedEndpoints(transfer: Transfer): Promise<Endpoints> {
  const { request } = transfer
  using stack = new DisposableStack()
  const source = stack.use(await locateExistingEntry(request.root, request.names))
  if (request.address.hasTrailingSlash && !source.stats.isDirectory()) throw notFound()
  checkWritePreconditions(request.headers, validatorsOf(source.stats))
  const target = stack.use(await locateNewEntry(request.root, transfer.target.names))
  if (target.stats && !transfer.mayOverwrite) throw new Failure("stale", "The destination exists, and Overwrite is F")
  const changes: PlannedChange[] = [{ names: transfer.target.names, changesParent: !target.stats, isDeep: true }]
  if (transfer.isMove) changes.push({ names: request.names, changesParent: true, isDeep: true })
  await checkLocks(request, changes)
  const resources = stack.move()
  return { source, target, [Symbol.dispose]: () => resources.dispose() }
}

async function copyInto(transfer: Transfer): Promise<void> {
  const { request } = transfer
  using room = await reserve(transfer)
  await using copied = await copyToStaging(transfer, room)
  const { staged } = copied
  await using properties = await stageProperties(transfer)
  using _lock = await lockEntries(transfer)
  await request.assertStillAllowed()
  using endpoints = await checkedEndpoints(transfer)
  if (!(await staged.parent.lstat(staged.name))) throw notFound()
  if (copied.sourceState !== (await sourceState(transfer, endpoints))) throw changed()
  // The look-ups may have waited for programs.
  await request.assertStillAllowed()
  const { stats } = endpoints.target
  const replaced = stats?.isFile() ? stats : undefined
  room.assertReplaces(replaced)
  await replace(transfer, endpoints, (to) => request.context.staging.place(staged, to))
  room.commit(room.written, { replaced })
  if (transfer.isMove) await request.context.staging.discard(endpoints.source.parent, endpoints.source.name)
  updateStorage(transfer, endpoints)
  await finish(transfer, endpoints.target, properties)
}

/** No other request changes the entries until the change is made. */
function lockEntries({ request, target, isMove }: Transfer): Promise<Disposable> {
  return isMove ? request.lockPaths(request.names, target.names) : request.lockPaths(target.names)
}

/** A move takes the properties themselves. */
async function stageProperties({ request, target, isMove, isShallow, isGuest }: Transfer): Promise<StagedProperties | undefined> {
  if (isMove) return undefined
  const { deadProperties, scheduler } = request.context
  const copied = { path: request.path, to: joinPath(target.names), deep: !isShallow, isGuest, person: request.userId }
  return await deadProperties.stageCopy(copied, new Yielder(scheduler, request.userId))
}

/** Reserves space for the copy. A move within one quota needs only space on the disk. */
async function reserve(transfer: Transfer): Promise<Reservation> {
  const { accounts, request, isMove } = transfer
  const { storage } = request.context
  using endpoints = await checkedEndpoints(transfer)
  const { parent, name } = endpoints.target
  const account = isMove && accounts.source === accounts.target ? undefined : accounts.target
  return await storage.reserve(account, parent, { bytes: 0, name, isOpenEnded: true })
}

/** Records the storage that the transfer freed. */
function updateStorage({ accounts, request, isMove }: Transfer, { source, target }: Endpoints): void {
  const { storage } = request.context
  if (target.stats?.isDirectory()) storage.recordRemoval(accounts.target, target.stats)
  if (isMove && accounts.source !== accounts.target) storage.recordRemoval(accounts.source, source.stats)
}

interface StagedCopy extends AsyncDisposable {
  staged: StagedEntry
  sourceState: string | undefined
}

const copyLimits = ({ clientGone }: DavRequest) => ({ maxEntries: bounds.files.copyEntries.value, signal: clientGone })

/** A move removes its source, so what was written there meanwhile would be lost. */
async function sourceState({ request, isMove }: Transfer, { source }: Endpoints): Promise<string | undefined> {
  return isMove ? await stateOfTree(source, copyLimits(request)).catch((error) => throwCopyFailure(request, error)) : undefined
}

async function copyToStaging(transfer: Transfer, room: Reservation): Promise<StagedCopy> {
  const { request, isShallow, isMove } = transfer
  using _slot = await request.context.copyQueue.acquire(request.userId)
  using endpoints = await checkedEndpoints(transfer)
  await using stack = new AsyncDisposableStack()
  const staged = stack.use(await stageFor(request, endpoints))
  const onCopied = (what: CopyTotals) => room.extend(request.context.storage.maxSizeOf(what), staged.parent)
  const options = { ...copyLimits(request), withoutContent: isShallow, preserveLinksAndTimes: isMove, onCopied }
  const before = await sourceState(transfer, endpoints)
  await copyEntry(endpoints.source, staged, options).catch((error) => throwCopyFailure(request, error))
  const held = stack.move()
  return { staged, sourceState: before, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

const changed = (): Failure => new Failure("conflict", "A program changed it while it was copied, so nothing was moved; try again")

/** A directory's content counts for the target's project from the start. */
function stageFor({ context: { staging } }: DavRequest, { source, target }: Endpoints): Promise<StagedEntry> {
  return source.stats.isDirectory() ? staging.createDirectoryEntry(target.parent) : staging.createEntry(target.parent)
}

/** False if the file system cannot rename the entry, since it has two, or two projects. */
async function tryRename(transfer: Transfer): Promise<boolean> {
  using _lock = await lockEntries(transfer)
  await transfer.request.assertStillAllowed()
  using endpoints = await checkedEndpoints(transfer)
  const { source, target } = endpoints
  if (!(await canMove(source, target.parent))) return false
  // The look-ups may have waited for programs.
  await transfer.request.assertStillAllowed()
  const { storage } = transfer.request.context
  try {
    await replace(transfer, endpoints, (to) => source.parent.rename(source.name, to.parent, to.name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EXDEV") return false
    throw error
  }
  if (target.stats) storage.recordRemoval(transfer.accounts.target, target.stats)
  await finish(transfer, target)
  return true
}

/** A rename replaces a file with a file. An old directory is first moved to the trash. */
async function replace({ request, target }: Transfer, endpoints: Endpoints, move: (to: Entry) => Promise<void>): Promise<void> {
  const { staging, locks, deadProperties } = request.context
  const { parent, name, stats } = endpoints.target
  if (stats?.isFile() && endpoints.source.stats.isFile()) await move({ parent, name })
  else await staging.replace({ parent, name }, () => move({ parent, name }))
  if (!stats) return
  for (const lock of locks.locksBelow(joinPath(target.names))) locks.release(lock)
  await deadProperties.remove(joinPath(target.names), request.userId)
}

async function finish({ request, target, isMove, isGuest }: Transfer, location: EntryLocation, copied?: StagedProperties): Promise<void> {
  const { locks, deadProperties } = request.context
  await deadProperties.move(copied?.path ?? request.path, joinPath(target.names), { person: request.userId, isGuest })
  if (isMove) locks.releaseTree(request.path)
  sendEmpty(request.response, location.stats ? 204 : 201)
}

function throwCopyFailure(request: DavRequest, error: unknown): never {
  if (request.clientGone.aborted) throw new ClientGoneError()
  if (error instanceof CopyLimitError) throw forbidden(`It cannot be copied: ${error.message}`)
  throw error
}

import { renameSync } from "node:fs"
import { bounds, Failure } from "#contract"
import { checkWrite, validatorsOf } from "../access/preconditions.ts"
import { ClientGone, forbidden, invalid, notFound } from "../failures.ts"
import { hostName, isOurs } from "../guard.ts"
import { type Change, checkLocks } from "../locks/lock-check.ts"
import { type Address, assertCreatable, parseTarget, pathText } from "../requests/address.ts"
import type { Call } from "../requests/dav-request.ts"
import { answerEmpty } from "../respond.ts"
import type { Stage } from "../staging/staged-entry.ts"
import type { Reservation } from "../storage/ledger.ts"
import { copyEntry, type Spot } from "../tree/copy-entry.ts"
import { type Copied, CopyLimit } from "../tree/copy-totals.ts"
import { type Place, placeForNew, placeOfExisting } from "../tree/entry-location.ts"

interface Transfer {
  call: Call
  target: Address
  overwrite: boolean
  /** Of a directory only itself. */
  shallow: boolean
  moves: boolean
  /** For whom the source counts, and for whom the target will; undefined: nobody. */
  accounts: { source: string | undefined; target: string | undefined }
}

/** Makes a copy; nobody sees half of it. */
export async function copy(call: Call): Promise<void> {
  await call.readable()
  const transfer = await readTransfer(call, false)
  await copyInto(transfer)
}

/**
 * Gives an entry another place, or a copy there instead: on another file system, and where other
 * runs have it mounted. A program keeps what it holds open, or has another name for, wherever that
 * is moved to; of a copy it has nothing.
 */
export async function move(call: Call): Promise<void> {
  await call.owned()
  const transfer = await readTransfer(call, true)
  if (transfer.shallow) throw invalid("MOVE takes Depth: infinity only")
  const together = await call.scene.rights.areTogether(call.names, transfer.target.names)
  if (!together || !moveNow(transfer)) await copyInto(transfer)
}

async function readTransfer(call: Call, moves: boolean): Promise<Transfer> {
  const target = destinationOf(call)
  const depth = String(call.request.headers.depth ?? "infinity").toLowerCase()
  if (depth !== "0" && depth !== "infinity") throw invalid(`Depth must be 0 or infinity, got ${JSON.stringify(depth)}`)
  assertCreatable(target.names)
  await call.owned(target.names)
  const [from, to] = [`${call.path}/`, `${pathText(target.names)}/`]
  if (from === to) throw forbidden("Source and destination are the same")
  if (to.startsWith(from) && (moves || depth === "infinity")) throw forbidden("The destination lies in the source")
  if (from.startsWith(to)) throw forbidden("The source lies in the destination")
  const overwrite = String(call.request.headers.overwrite ?? "T").toUpperCase() !== "F"
  const accounts = { source: moves ? await call.account() : undefined, target: await call.account(target.names) }
  return { call, target, overwrite, shallow: depth === "0", moves, accounts }
}

function destinationOf(call: Call): Address {
  const { destination } = call.request.headers
  if (destination === undefined || destination === "") throw invalid("The header Destination is missing")
  const authority = /^https?:\/\/([^/?#]*)/i.exec(String(destination))?.[1]
  if (authority !== undefined && !isOurs(hostName(authority), call.scene.hosts)) {
    throw new Failure("invalid", "The destination is on another server", { status: 502 })
  }
  return parseTarget(String(destination))
}

interface Ends extends Disposable {
  source: ReturnType<typeof placeOfExisting>
  target: Place
}

/** Both ends as they are now, all conditions checked. */
function checkedEnds(transfer: Transfer): Ends {
  const { call } = transfer
  using stack = new DisposableStack()
  const source = stack.use(placeOfExisting(call.scene.root, call.names))
  if (call.address.slash && !source.stats.isDirectory()) throw notFound()
  checkWrite(call.request.headers, validatorsOf(source.stats))
  const target = stack.use(placeForNew(call.scene.root, transfer.target.names))
  if (target.stats && !transfer.overwrite) throw new Failure("stale", "The destination exists, and Overwrite is F")
  const changes: Change[] = [{ names: transfer.target.names, member: !target.stats, deep: true }]
  if (transfer.moves) changes.push({ names: call.names, member: true, deep: true })
  checkLocks(call, changes)
  const held = stack.move()
  return { source, target, [Symbol.dispose]: () => held.dispose() }
}

async function copyInto(transfer: Transfer): Promise<void> {
  const { call } = transfer
  using room = await reserve(transfer)
  await using stage = await copyToStage(transfer, room)
  await call.renew()
  await call.owned(transfer.target.names)
  using ends = checkedEnds(transfer)
  if (!stage.parent.look(stage.name)) throw notFound()
  replace(transfer, ends, stage)
  room.settle(room.written - replacedSize(transfer, ends))
  if (transfer.moves) await call.scene.workplace.discard(ends.source.parent, ends.source.name)
  count(transfer, ends)
  finish(transfer, ends.target)
}

/** Room for the copy; what a person moves within what is theirs needs none but the disk's. */
async function reserve(transfer: Transfer): Promise<Reservation> {
  const { accounts, call, moves } = transfer
  const { storage } = call.scene
  using ends = checkedEnds(transfer)
  const { stats } = ends.target
  const replaced = stats?.isFile() ? stats : undefined
  const account = moves && accounts.source === accounts.target ? undefined : accounts.target
  return await storage.reserve(account, ends.target.parent, { bytes: 0, replaced, isOpen: true })
}

function replacedSize({ call }: Transfer, { target: { stats } }: Ends): number {
  return stats?.isFile() ? call.scene.storage.sizeOf(stats) : 0
}

/** What went away by the transfer. */
function count({ accounts, call, moves }: Transfer, { source, target }: Ends): void {
  const { storage } = call.scene
  if (target.stats?.isDirectory()) storage.removed(accounts.target, undefined)
  if (moves && accounts.source !== accounts.target)
    storage.removed(accounts.source, source.stats.isFile() ? storage.sizeOf(source.stats) : undefined)
}

async function copyToStage(transfer: Transfer, room: Reservation): Promise<Stage> {
  const { call, shallow, moves } = transfer
  using _turn = await call.scene.copies.enter(call.person.userId)
  using ends = checkedEnds(transfer)
  await using stages = new AsyncDisposableStack()
  const stage = stages.use(call.scene.workplace.stage(ends.target.parent))
  const take = (what: Copied) => room.grow(call.scene.storage.sizeOfAll(what), stage.parent)
  const options = { shallow, whole: moves, maxEntries: bounds.files.copyEntries.value, signal: call.gone, take }
  await copyEntry({ parent: ends.source.parent, name: ends.source.name }, stage, options).catch((error) => refuse(call, error))
  stages.move()
  return stage
}

/** False where source and destination are on different file systems. */
function moveNow(transfer: Transfer): boolean {
  using ends = checkedEnds(transfer)
  const { source, target } = ends
  if (source.parent.stat().dev !== target.parent.stat().dev) return false
  const { storage } = transfer.call.scene
  if (target.stats) storage.removed(transfer.accounts.target, target.stats.isDirectory() ? undefined : storage.sizeOf(target.stats))
  replace(transfer, ends, source)
  finish(transfer, target)
  return true
}

/**
 * A file is replaced by a file in one step; a directory goes first, within the same turn of the
 * event loop.
 */
function replace({ call, target }: Transfer, ends: Ends, from: Spot): void {
  const { workplace, locks, properties } = call.scene
  const { parent, name, stats } = ends.target
  if (stats) {
    for (const lock of locks.below(pathText(target.names))) locks.remove(lock)
    properties.forget(pathText(target.names))
  }
  if (stats?.isFile() && ends.source.stats.isFile()) renameSync(from.parent.at(from.name), parent.at(name))
  else workplace.replace(from, { parent, name }).catch(call.scene.report)
}

function finish({ call, target, moves, shallow }: Transfer, place: Place): void {
  const { locks, properties } = call.scene
  const to = pathText(target.names)
  if (moves) {
    properties.move(call.path, to)
    locks.forget(call.path)
  } else properties.copy(call.path, to, !shallow)
  answerEmpty(call.response, place.stats ? 204 : 201)
}

function refuse(call: Call, error: unknown): never {
  if (call.gone.aborted) throw new ClientGone()
  if (error instanceof CopyLimit) throw forbidden(`It cannot be copied: ${error.message}`)
  throw error
}

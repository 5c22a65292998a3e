import { type StatsFs, statfsSync } from "node:fs"
import { Failure } from "#contract"
import { amountText, type StorageRoom, type StorageSettings } from "./storage.ts"

/** A run is ended within some ten seconds, so more than this is not needed on the largest disk. */
const mostReserve = 64 * 2 ** 30
/** Of a small disk. */
const smallPart = 1 / 16

type ReserveSettings = Pick<StorageSettings, "reserveBytes" | "leastReserveBytes" | "reservePart" | "freeInodes">

export function roomOf({ bavail, blocks, bsize, files, ffree }: StatsFs, settings: ReserveSettings): StorageRoom {
  const freeBytes = bavail * bsize
  const totalBytes = blocks * bsize
  const reserveBytes = settings.reserveBytes ?? defaultReserve(totalBytes, settings)
  // Some file systems make inodes as they need them, and tell none.
  const lacksInodes = files > 0 && ffree < Math.min(settings.freeInodes, files / 50)
  return { freeBytes, totalBytes, reserveBytes, isLow: freeBytes < reserveBytes || lacksInodes }
}

function defaultReserve(totalBytes: number, { leastReserveBytes, reservePart }: ReserveSettings): number {
  return Math.floor(Math.min(Math.max(leastReserveBytes, totalBytes * reservePart), totalBytes * smallPart, mostReserve))
}

/**
 * Refuses what would leave less free than the reserve, while there is still room to delete and to
 * end runs.
 */
export function assertRoom(place: { readonly self: string }, bytes: number, settings: ReserveSettings): void {
  const room = roomOf(statfsSync(place.self), settings)
  if (!room.isLow && room.freeBytes - bytes >= room.reserveBytes) return
  const { freeBytes, reserveBytes } = room
  throw new Failure(
    "storage_full",
    `The disk is nearly full: ${amountText(freeBytes)} are free, of which ${amountText(reserveBytes)} are kept; this has ${amountText(bytes)}. Delete files first`,
  )
}

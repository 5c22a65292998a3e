import { type StatsFs, statfsSync } from "node:fs"
import { Failure } from "#contract"
import { type DiskSpace, formatBytes, type StorageSettings } from "./storage.ts"

/** A run is ended within some ten seconds, so more than this is not needed on the largest disk. */
const maxReserveBytes = 64 * 2 ** 30
/** Of a small disk. */
const maxReserveFraction = 1 / 16

type ReserveSettings = Pick<StorageSettings, "reserveBytes" | "minReserveBytes" | "reserveFraction" | "minFreeInodes">

export function diskSpaceOf({ bavail, blocks, bsize, files, ffree }: StatsFs, settings: ReserveSettings): DiskSpace {
  const freeBytes = bavail * bsize
  const totalBytes = blocks * bsize
  const reserveBytes = settings.reserveBytes ?? defaultReserve(totalBytes, settings)
  // Some file systems make inodes as they need them, and tell none.
  const lacksInodes = files > 0 && ffree < Math.min(settings.minFreeInodes, files / 50)
  return { freeBytes, totalBytes, reserveBytes, isLow: freeBytes < reserveBytes || lacksInodes }
}

function defaultReserve(totalBytes: number, { minReserveBytes, reserveFraction }: ReserveSettings): number {
  return Math.floor(Math.min(Math.max(minReserveBytes, totalBytes * reserveFraction), totalBytes * maxReserveFraction, maxReserveBytes))
}

/**
 * Refuses what would leave less free than the reserve, while there is still room to delete and to
 * end runs.
 */
export function assertDiskSpace(location: { readonly path: string }, bytes: number, settings: ReserveSettings): void {
  const room = diskSpaceOf(statfsSync(location.path), settings)
  if (!room.isLow && room.freeBytes - bytes >= room.reserveBytes) return
  const { freeBytes, reserveBytes } = room
  throw new Failure(
    "storage_full",
    `The disk is nearly full: ${formatBytes(freeBytes)} are free, of which ${formatBytes(reserveBytes)} are kept; this has ${formatBytes(bytes)}. Delete files first`,
  )
}

import { type StatsFs, statfsSync } from "node:fs"
import { Failure } from "#contract"
import { defaultDiskReserve } from "#kit"
import { type DiskSpace, formatBytes, type StorageSettings } from "./storage.ts"

type ReserveSettings = Pick<StorageSettings, "reserveBytes" | "minReserveBytes" | "reserveFraction" | "minFreeInodes">

export function diskSpaceOf({ bavail, blocks, bsize, files, ffree }: StatsFs, settings: ReserveSettings): DiskSpace {
  const freeBytes = bavail * bsize
  const totalBytes = blocks * bsize
  const reserveBytes =
    settings.reserveBytes ?? defaultDiskReserve(totalBytes, { minBytes: settings.minReserveBytes, fraction: settings.reserveFraction })
  // Some file systems create inodes on demand and report none.
  const lacksInodes = files > 0 && ffree < Math.min(settings.minFreeInodes, files / 50)
  return { freeBytes, totalBytes, reserveBytes, isLow: freeBytes < reserveBytes || lacksInodes }
}

/** Throws 507 when less than the reserve would stay free, which deleting and ending runs need. */
export function assertDiskSpace(location: { readonly path: string }, bytes: number, settings: ReserveSettings): void {
  const room = diskSpaceOf(statfsSync(location.path), settings)
  if (!room.isLow && room.freeBytes - bytes >= room.reserveBytes) return
  const { freeBytes, reserveBytes } = room
  throw new Failure(
    "storage_full",
    `The disk is nearly full: ${formatBytes(freeBytes)} are free, of which ${formatBytes(reserveBytes)} are reserved; this has ${formatBytes(bytes)}. Delete files first`,
  )
}

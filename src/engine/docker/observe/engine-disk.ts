import { statfs } from "node:fs/promises"
import type { DaemonInfo } from "../client/docker-api.ts"

/** The disk of the daemon's images and containers. */
export interface EngineDisk {
  freeBytes: number
  totalBytes: number
  freeInodes: number
  /** 0: the file system makes inodes as it needs them. */
  totalInodes: number
}

/**
 * Null if the daemon's host is another one. If that machine's path exists here too, the figure
 * describes a disk that no run fills.
 */
export async function readEngineDisk(daemonInfo: () => Promise<DaemonInfo>): Promise<EngineDisk | null> {
  try {
    const { bavail, blocks, bsize, ffree, files } = await statfs((await daemonInfo()).DockerRootDir)
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize, freeInodes: ffree, totalInodes: files }
  } catch {
    return null
  }
}

/** The bytes of a file or directory if all inodes together were the whole disk. */
export function bytesPerInode({ totalBytes, totalInodes }: EngineDisk): number {
  return totalInodes > 0 ? totalBytes / totalInodes : 0
}

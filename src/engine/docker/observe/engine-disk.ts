import { statfs } from "node:fs/promises"
import type { DaemonInfo } from "../client/docker-api.ts"

/** The disk of the daemon's images and containers. */
export interface EngineDisk {
  freeBytes: number
  totalBytes: number
}

/**
 * Null if the daemon's host is another one. If that machine's path exists here too, the figure
 * describes a disk that no run fills.
 */
export async function readEngineDisk(daemonInfo: () => Promise<DaemonInfo>): Promise<EngineDisk | null> {
  try {
    const { bavail, blocks, bsize } = await statfs((await daemonInfo()).DockerRootDir)
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
  } catch {
    return null
  }
}

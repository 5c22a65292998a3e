import { type Logger, silentLogger } from "#kit"
import type { RunSpec } from "../../engine.ts"
import type { DaemonInfo } from "../client/docker-api.ts"
import type { DockerClient } from "../client/docker-client.ts"
import { isDiskLimitTooSmall } from "../client/errors.ts"

const mib = 2 ** 20

/** How a storage driver counts: whether the image's size counts as the container's. */
interface DiskAccounting {
  withImage: boolean
}

/**
 * Limits what containers write to their own file systems, if the daemon can. The storage driver
 * shows whether that is possible. Only the first container with a limit proves that the file system
 * has quotas, since the daemon rejects the limit otherwise.
 */
export class DiskLimit {
  readonly #client: DockerClient
  readonly #log: Logger
  #accounting: Promise<DiskAccounting | undefined> | undefined

  constructor(client: DockerClient, logger: Logger = silentLogger) {
    this.#client = client
    this.#log = logger
  }

  /**
   * The limit for a container in bytes; undefined if there is none, or none that the daemon can
   * enforce.
   */
  async bytesFor({ diskMiB }: RunSpec, imageId: string, signal: AbortSignal): Promise<number | undefined> {
    if (diskMiB === undefined) return undefined
    const accounting = await this.#detectAccounting()
    if (!accounting) return undefined
    const image = accounting.withImage ? await this.#sizeOf(imageId, signal) : 0
    return withOverhead(diskMiB) + Math.ceil(image * 1.25)
  }

  /**
   * Records that the daemon rejected a limit. If the limit was only too small for the image, the
   * daemon may still enforce others.
   */
  handleRefusal(error: unknown): void {
    if (isDiskLimitTooSmall(error)) {
      this.#log.warn({ err: error }, "Docker rejected a run's disk limit: its MaxDisk is only monitored")
      return
    }
    this.#log.info({ err: error }, "Docker cannot limit what a run writes to its own file system here: MaxDisk is only monitored")
    this.#accounting = Promise.resolve(undefined)
  }

  /** Discards what is known of the daemon, which may be another one now. */
  reset(): void {
    this.#accounting = undefined
  }

  async #detectAccounting(): Promise<DiskAccounting | undefined> {
    this.#accounting ??= this.#client.call(async (docker, abort) => accountingOf(await docker.info(abort)))
    try {
      return await this.#accounting
    } catch (error) {
      this.#accounting = undefined
      throw error
    }
  }

  async #sizeOf(imageId: string, signal: AbortSignal): Promise<number> {
    const { Size } = await this.#client.call((docker, abort) => docker.getImage(imageId).inspect(abort as object), { signal })
    return Size
  }
}

/**
 * Adds room for blocks, directories and the driver's own files, which the kernel counts and the run
 * does not.
 */
function withOverhead(diskMiB: number): number {
  return Math.ceil(diskMiB * mib * 1.125) + 32 * mib
}

/**
 * Undefined for drivers without limits. This includes containerd's image store: the daemon accepts
 * a limit there and ignores it.
 */
function accountingOf({ Driver, DriverStatus = [] }: DaemonInfo): DiskAccounting | undefined {
  const backing = DriverStatus.find(([name]) => name === "Backing Filesystem")?.[1]
  if (DriverStatus.some(([name]) => name === "driver-type")) return undefined
  if (Driver === "overlay2" && backing === "xfs") return { withImage: false }
  if (Driver === "zfs") return { withImage: false }
  return Driver === "btrfs" ? { withImage: true } : undefined
}

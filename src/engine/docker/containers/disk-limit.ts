import { type Logger, silentLogger } from "#kit"
import type { RunSpec } from "../../engine.ts"
import type { DaemonInfo, DockerClient } from "../client/docker-client.ts"
import { isDiskLimitTooSmall } from "../client/errors.ts"

const mib = 2 ** 20

/** How a storage driver reckons: whether what the image takes counts as the container's. */
interface DiskAccounting {
  withImage: boolean
}

/**
 * Bounds what containers write to their own file systems, where the daemon can. Its storage driver
 * tells whether that may be; the proof is the first container made with a bound: whether the file
 * system below really has quotas, only the daemon knows, and refuses it where it has not.
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
   * Bytes to make a container with; undefined where there is no bound, or none that the daemon
   * could hold it to.
   */
  async bytesFor({ diskMiB }: RunSpec, imageId: string, signal: AbortSignal): Promise<number | undefined> {
    if (diskMiB === undefined) return undefined
    const accounting = await this.#known()
    if (!accounting) return undefined
    const image = accounting.withImage ? await this.#sizeOf(imageId, signal) : 0
    return withOverhead(diskMiB) + Math.ceil(image * 1.25)
  }

  /**
   * The daemon refused a container for its bound; where that was too little for the image, it may
   * give others theirs.
   */
  handleRefusal(error: unknown): void {
    if (isDiskLimitTooSmall(error)) {
      this.#log.warn({ err: error }, "Docker refused the bound of a run's own file system: this run's MaxDisk is watched only")
      return
    }
    this.#log.info({ err: error }, "Docker cannot bound what a run writes to its own file system here: MaxDisk is watched only")
    this.#accounting = Promise.resolve(undefined)
  }

  /** The daemon may be another one by now. */
  reset(): void {
    this.#accounting = undefined
  }

  async #known(): Promise<DiskAccounting | undefined> {
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
 * Blocks, directories and what the driver keeps beside count for the kernel, and not as written:
 * the bound leaves room for them.
 */
function withOverhead(diskMiB: number): number {
  return Math.ceil(diskMiB * mib * 1.125) + 32 * mib
}

/**
 * Undefined for drivers that bound nothing. Those of containerd's store are among them: the daemon
 * takes a bound for them and passes over it.
 */
function accountingOf({ Driver, DriverStatus = [] }: DaemonInfo): DiskAccounting | undefined {
  const backing = DriverStatus.find(([name]) => name === "Backing Filesystem")?.[1]
  if (DriverStatus.some(([name]) => name === "driver-type")) return undefined
  if (Driver === "overlay2" && backing === "xfs") return { withImage: false }
  if (Driver === "zfs") return { withImage: false }
  return Driver === "btrfs" ? { withImage: true } : undefined
}

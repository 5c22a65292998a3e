import { readFileSync } from "node:fs"
import type { Logger } from "#kit"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { quotaProjectId, writeQuotaProjectLimits } from "./quota-project.ts"
import type { StorageSettings } from "./storage.ts"

type ProjectSettings = Pick<StorageSettings, "firstProject" | "minEntryBytes">

/**
 * Limits what each person's project may hold, on a file system with project quotas. Only the main
 * process may, if it is root.
 */
export class ProjectQuotas {
  readonly #root: DirectoryHandle
  readonly #firstProject: number
  readonly #minEntryBytes: number
  readonly #known = new Map<number, number | null>()

  private constructor(root: DirectoryHandle, firstProject: number, minEntryBytes: number) {
    this.#root = root
    this.#firstProject = firstProject
    this.#minEntryBytes = minEntryBytes
  }

  /** Undefined where the kernel cannot enforce limits; the log then says why. */
  static open(root: DirectoryHandle, { firstProject, minEntryBytes }: ProjectSettings, logger: Logger): ProjectQuotas | undefined {
    const reason = firstProject === undefined ? "they are switched off" : whyUnavailable(root, firstProject)
    if (firstProject !== undefined && reason === undefined) {
      logger.info({}, "the kernel enforces `MaxStorage` by project quotas of the file system")
      return new ProjectQuotas(root, firstProject, minEntryBytes)
    }
    logger.info({ reason }, "`MaxStorage` is enforced by counting files: project quotas cannot be used")
    return undefined
  }

  /** Null is unlimited. The limit stays when Quayside stops. */
  limit(userId: number, maxBytes: number | null): void {
    if (this.#known.get(userId) === maxBytes) return
    const entries = maxBytes === null ? 0 : Math.max(1, Math.floor(maxBytes / this.#minEntryBytes))
    // Zero would be unlimited.
    const kibibytes = maxBytes === null ? 0 : Math.max(1, Math.floor(maxBytes / 1_024))
    writeQuotaProjectLimits(this.#root.fd, quotaProjectId(userId, this.#firstProject), { kibibytes, entries })
    this.#known.set(userId, maxBytes)
  }
}

function whyUnavailable(root: DirectoryHandle, firstProject: number): string | undefined {
  const mount = mountOf(root)
  if (!mount || !hasProjectQuotas(mount)) return "the file system of the files root is not ext4 or XFS mounted with `prjquota`"
  try {
    // Nobody has the ID 0.
    writeQuotaProjectLimits(root.fd, firstProject, { kibibytes: 0, entries: 0 })
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "EPERM") return "Quayside may not set quotas: it is not root, or lacks CAP_SYS_ADMIN"
    return `the kernel or Node.js does not allow it (${code ?? error})`
  }
}

/** The line of `/proc/self/mountinfo`. */
function mountOf(root: DirectoryHandle): string | undefined {
  try {
    const id = /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${root.fd}`, "utf8"))?.[1]
    return readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .find((line) => line.startsWith(`${id} `))
  } catch {
    return undefined
  }
}

/** Whether a line of `/proc/self/mountinfo` is of a file system that limits projects. */
export function hasProjectQuotas(mount: string): boolean {
  const [type = "", , options = ""] = mount.split(" - ").at(-1)?.split(" ") ?? []
  return ["ext4", "xfs"].includes(type) && options.split(",").some((option) => option === "prjquota" || option === "pquota")
}

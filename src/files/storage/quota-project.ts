import { constants } from "node:os"
import { lazyFunctions } from "../tree/c-library.ts"

/** `struct fsxattr` of <linux/fs.h>, and the calls that read and write it. */
const attributes = { size: 28, flags: 0, project: 12, inherits: 0x200, read: 0x801c_581fn, write: 0x401c_5820n } as const

/** `struct if_dqblk` of <linux/quota.h>, and `quotactl_fd` with `Q_SETQUOTA` and `PRJQUOTA`. */
const limits = { size: 72, kibibytes: 0, entries: 24, valid: 64, both: 1 | 4, call: 443n, setProject: 0x8000_0802n } as const

/**
 * Project IDs of files, by descriptor: ext4 and XFS count files by them, and limit each project. In
 * a directory that passes its ID on, new entries get it; the kernel moves or links nothing into
 * such a directory that has another one (`EXDEV`).
 */
export interface QuotaProject {
  id: number
  /** Whether new entries of the directory get the same ID. */
  isInherited: boolean
}

const kernel = lazyFunctions(({ dlopen, getInt32 }) => {
  const { functions } = dlopen(null, {
    ioctl: { return: "int32", arguments: ["int32", "uint64", "pointer"] },
    fcntl: { return: "int32", arguments: ["int32", "int32", "int32"] },
    syscall: { return: "int64", arguments: ["int64", "int64", "int64", "int64", "pointer"] },
    __errno_location: { return: "pointer", arguments: [] },
  })
  const { fcntl, ioctl, syscall, __errno_location: errno } = functions
  return { fcntl, ioctl, syscall, errno: () => getInt32(errno(), 0) }
})

/** The project of a person's files: IDs from `firstProject` on belong to this installation. */
export function quotaProjectId(userId: number, firstProject: number): number {
  return firstProject + userId
}

/** Undefined where files have no project IDs. */
export function readQuotaProject(fd: number): QuotaProject | undefined {
  const data = Buffer.alloc(attributes.size)
  const loaded = kernel()
  if (loaded?.ioctl(fd, attributes.read, data) !== 0) return undefined
  return { id: data.readUInt32LE(attributes.project), isInherited: (data.readUInt32LE(attributes.flags) & attributes.inherits) !== 0 }
}

/** Throws a system error; `isOutOfSpace` where the project's limit leaves no room for the file. */
export function writeQuotaProject(fd: number, { id, isInherited }: QuotaProject): void {
  const data = Buffer.alloc(attributes.size)
  const loaded = kernel()
  if (!loaded) throw systemError("project IDs", constants.errno.ENOSYS)
  if (loaded.ioctl(fd, attributes.read, data) !== 0) throw systemError("reading a project ID", loaded.errno())
  const others = data.readUInt32LE(attributes.flags) & ~attributes.inherits
  data.writeUInt32LE((others | (isInherited ? attributes.inherits : 0)) >>> 0, attributes.flags)
  data.writeUInt32LE(id, attributes.project)
  if (loaded.ioctl(fd, attributes.write, data) !== 0) throw systemError("changing a project ID", loaded.errno())
}

/** Whether a quota or the disk leaves no room: XFS does not say which. */
export function isOutOfSpace(error: unknown): boolean {
  return ["EDQUOT", "ENOSPC"].includes((error as NodeJS.ErrnoException).code ?? "")
}

/** `F_SETLEASE` with `F_WRLCK`. */
const writeLease = [1_024, 1] as const

/**
 * Until the descriptor is closed: false if the file is open elsewhere, and else nobody opens it.
 */
export function acquireWriteLease(fd: number): boolean {
  return kernel()?.fcntl(fd, ...writeLease) === 0
}

/** The limits of a project; zeros mean unlimited. */
export interface QuotaProjectLimits {
  kibibytes: number
  entries: number
}

/** Needs CAP_SYS_ADMIN. Throws a system error, with code `ESRCH` where there are no such quotas. */
export function writeQuotaProjectLimits(fd: number, id: number, { kibibytes, entries }: QuotaProjectLimits): void {
  const data = Buffer.alloc(limits.size)
  data.writeBigUInt64LE(BigInt(kibibytes), limits.kibibytes)
  data.writeBigUInt64LE(BigInt(entries), limits.entries)
  data.writeUInt32LE(limits.both, limits.valid)
  const loaded = kernel()
  if (!loaded) throw systemError("quotactl", constants.errno.ENOSYS)
  const status = loaded.syscall(limits.call, BigInt(fd), limits.setProject, BigInt(id), data)
  if (status !== 0n) throw systemError("quotactl", loaded.errno())
}

function systemError(what: string, errno: number): NodeJS.ErrnoException {
  const code = Object.entries(constants.errno).find(([, value]) => value === errno)?.[0] ?? String(errno)
  return Object.assign(new Error(`${code}: ${what}`), { code, errno: -errno })
}

import { closeSync, constants, fstatSync, type Stats } from "node:fs"
import { getSystemErrorName } from "node:util"
import { lazyFunctions } from "./c-library.ts"
import type { EntryName } from "./directory-handle.ts"

/*
 * Calls that answer from the kernel's caches or not at all, so they never wait for a lock. A
 * program may keep the lock of its directory or file for seconds, by one long write and a link to
 * the written file meanwhile; see DESIGN.md.
 */

/** `openat2` and `struct open_how` of <linux/openat2.h>, Linux 5.12. */
const openat2 = { call: 437n, size: 24n, noMagicLinks: 0x02n, noSymbolicLinks: 0x04n, beneath: 0x08n, cached: 0x20n } as const
/** `RWF_NOWAIT` of <linux/fs.h>. */
const readWithoutWaiting = 8
/** `struct iovec`. */
const vector = { size: 16, length: 8 } as const
const pathOnly = 0o10000000
const closeOnExec = 0o2000000

/** Undefined: then all calls go to the thread pool. */
const kernel = lazyFunctions(({ dlopen, getInt32, getRawPointer }) => {
  const { functions } = dlopen(null, {
    syscall: { return: "int64", arguments: ["int64", "int64", "pointer", "pointer", "int64"] },
    preadv2: { return: "int64", arguments: ["int32", "pointer", "int32", "int64", "int32"] },
    __errno_location: { return: "pointer", arguments: [] },
  })
  const { syscall, preadv2, __errno_location: errno } = functions
  return { syscall, preadv2, addressOf: getRawPointer, errno: () => getInt32(errno(), 0) }
})

const how = Buffer.alloc(Number(openat2.size))
how.writeBigUInt64LE(openat2.noMagicLinks | openat2.noSymbolicLinks | openat2.beneath | openat2.cached, 16)
const end = Buffer.alloc(1)

/**
 * Opens a path below a directory, without following links, if the kernel has all its names in the
 * cache. Undefined: it has not, so the thread pool must look. Throws as `openSync` does.
 */
export function openCached(directory: number, path: EntryName, flags: number): number | undefined {
  const loaded = kernel()
  if (!loaded) return undefined
  how.writeBigUInt64LE(BigInt(flags | constants.O_NOFOLLOW | closeOnExec), 0)
  const text = typeof path === "string" ? Buffer.from(`${path}\0`) : Buffer.concat([path, end])
  const fd = Number(loaded.syscall(openat2.call, BigInt(directory), text, how, openat2.size))
  if (fd >= 0) return fd
  const code = getSystemErrorName(-loaded.errno())
  if (cannotTell.has(code)) return undefined
  throw Object.assign(new Error(`${code}: openat2`), { code, syscall: "openat2" })
}

/** Besides what is not cached: longer paths, older kernels, and seccomp profiles. */
const cannotTell: ReadonlySet<string> = new Set(["EAGAIN", "ENAMETOOLONG", "ENOSYS", "EINVAL", "EPERM", "EXDEV"])

/** An entry's stats; null: nothing is there; undefined: the kernel's cache does not say. */
export function lstatCached(directory: number, name: EntryName): Stats | null | undefined {
  try {
    const fd = openCached(directory, name, pathOnly)
    if (fd === undefined) return undefined
    try {
      return fstatSync(fd)
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT" || code === "ENOTDIR") return null
    throw error
  }
}

/**
 * Reads from a position on and returns the number of bytes, which is less than the buffer's at the
 * end of the file, or if not all of it is in memory. Undefined: nothing could be read now.
 */
export function readCached(fd: number, bytes: Buffer, position: number): number | undefined {
  const loaded = kernel()
  if (!loaded || bytes.length === 0) return undefined
  const vectors = Buffer.alloc(vector.size)
  vectors.writeBigUInt64LE(loaded.addressOf(bytes), 0)
  vectors.writeBigUInt64LE(BigInt(bytes.length), vector.length)
  const count = Number(loaded.preadv2(fd, vectors, 1, BigInt(position), readWithoutWaiting))
  return count < 0 ? undefined : count
}

import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import { stdin, stdout } from "node:process"
import { text } from "node:stream/consumers"

/*
 * A program of its own: adds up what the kernel holds for programs of runs. It copies their sockets
 * one by one to ask each, and a program may make it wait when it closes a copy, so it is killed if
 * it shows no progress.
 */

/** The question about one run. */
export interface KernelMemoryQuestion {
  key: string
  /** The processes of its control group. */
  processes: readonly number[]
  /** The sockets of its network. */
  sockets: number
  /** Whether locks are counted, which takes longer. */
  countsLocks: boolean
  /** Bytes after which no more are counted. */
  enough: number
}

/** One line of the output. */
export interface KernelMemoryAnswer {
  key: string
  /** Null: more descriptors than can be looked at. */
  bytes: number | null
  /** Whether many sockets wait in other sockets, where nobody can ask them. */
  hidesSockets: boolean
}

/** Processor time for one run. Some 200,000 descriptors can be looked at. */
const maxCpuMicroseconds = 2_000_000
const descriptorsPerLook = 256
/** Sockets that no process has: connections that a program has not accepted yet are a few. */
const manyHidden = 512
/** `struct file_lock`, rounded up. Source: `file_lock_cache` in `/proc/slabinfo`, Linux 6.18. */
const lockBytes = 200

/** The same numbers on all of Linux's architectures. */
const calls = { pidfdOpen: 434n, pidfdGetfd: 438n }
const unixDomain = 1
/** Of <asm-generic/socket.h>, <linux/sock_diag.h>. */
const option = { level: 1, domain: 39, memory: 55 }
const memoryFigures = { size: 36, received: 0, options: 24 }

type Kernel = ReturnType<typeof loadKernel>

function loadKernel() {
  const { dlopen } = process.getBuiltinModule("node:ffi")
  const { functions } = dlopen(null, {
    syscall: { return: "int64", arguments: ["int64", "int64", "int64", "int64"] },
    close: { return: "int32", arguments: ["int32"] },
    getsockopt: { return: "int32", arguments: ["int32", "int32", "int32", "pointer", "pointer"] },
  })
  return functions
}

const value = Buffer.alloc(memoryFigures.size)
const length = Buffer.alloc(4)

function readOption(kernel: Kernel, socket: number, name: number, size: number): boolean {
  length.writeUInt32LE(size)
  return kernel.getsockopt(socket, option.level, name, value, length) === 0
}

/**
 * Bytes of messages and options in a socket; undefined if it was closed meanwhile. Those of Unix
 * sockets are 0, since control groups count them.
 */
function bytesOfSocket(kernel: Kernel, pidfd: bigint, descriptor: string): number | undefined {
  const copy = Number(kernel.syscall(calls.pidfdGetfd, pidfd, BigInt(descriptor), 0n))
  if (copy < 0) return undefined
  try {
    if (readOption(kernel, copy, option.domain, 4) && value.readUInt32LE() === unixDomain) return 0
    if (!readOption(kernel, copy, option.memory, memoryFigures.size)) return 0
    return value.readUInt32LE(memoryFigures.received) + value.readUInt32LE(memoryFigures.options)
  } finally {
    kernel.close(copy)
  }
}

const listed = (path: string): string[] => orElse([], () => readdirSync(path))

/** A process may end at any moment. */
function orElse<T>(otherwise: T, read: () => T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}

function answer(kernel: Kernel, { key, processes, sockets, countsLocks, enough }: KernelMemoryQuestion): KernelMemoryAnswer {
  const started = process.cpuUsage()
  const isLate = () => {
    const { user, system } = process.cpuUsage(started)
    return user + system > maxCpuMicroseconds
  }
  const seen = new Set<string>()
  let [bytes, looked, waiting] = [0, 0, 0]
  for (const id of processes) {
    const pidfd = kernel.syscall(calls.pidfdOpen, BigInt(id), 0n, 0n)
    if (pidfd < 0n) continue
    for (const descriptor of listed(`/proc/${id}/fd`)) {
      looked += 1
      if (looked % descriptorsPerLook === 0 && isLate()) return { key, bytes: null, hidesSockets: false }
      const target = orElse("", () => readlinkSync(`/proc/${id}/fd/${descriptor}`))
      if (target.startsWith("socket:")) {
        if (!seen.has(target)) bytes += bytesOfSocket(kernel, pidfd, descriptor) ?? 0
        seen.add(target)
        if (sockets > manyHidden) waiting += filesInSocket(id, descriptor)
      } else if (countsLocks && target.startsWith("/")) bytes += locksOf(id, descriptor) * lockBytes
      if (bytes > enough) break
    }
    kernel.close(Number(pidfd))
    if (bytes > enough) break
  }
  return { key, bytes, hidesSockets: waiting > 0 && sockets - seen.size > manyHidden }
}

const infoOf = (id: number, descriptor: string) => orElse("", () => readFileSync(`/proc/${id}/fdinfo/${descriptor}`, "latin1"))

/** Files on their way to another program. */
function filesInSocket(id: number, descriptor: string): number {
  return Number(/^scm_fds:\s*(\d+)/m.exec(infoOf(id, descriptor))?.[1] ?? 0)
}

/** Locks that a process has on a file. */
function locksOf(id: number, descriptor: string): number {
  return infoOf(id, descriptor).split("\nlock:").length - 1
}

const kernel = loadKernel()
for (const question of JSON.parse(await text(stdin)) as KernelMemoryQuestion[]) {
  stdout.write(`${JSON.stringify(answer(kernel, question))}\n`)
}

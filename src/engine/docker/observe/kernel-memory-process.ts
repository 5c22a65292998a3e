import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import { stdin, stdout } from "node:process"
import { text } from "node:stream/consumers"
import { tasksWithDescriptors } from "./tasks.ts"

/*
 * A program of its own: adds up what the kernel holds for programs of runs. It copies their sockets
 * one by one to ask each, and a program may make it wait when it closes a copy, so it is killed if
 * it shows no progress.
 */

/** The question about one run. */
export interface KernelMemoryQuestion {
  key: string
  /** The process ID of its init. */
  pid: number
  /** The file that lists the processes of its control group. */
  processes: string
  /** Whether locks are counted, which takes longer. */
  countsLocks: boolean
  /** Bytes that are known already. */
  bytes: number
  /** Bytes after which no more are counted. */
  enough: number
}

/** One line of the output. */
export interface KernelMemoryAnswer {
  key: string
  bytes: number
  /** Sockets that no descriptor leads to, such as those that wait in another socket. */
  hidden: number
  /** Processor time. */
  microseconds: number
}

/** Of one run; some 0.2 s. The sockets behind further ones count as hidden. */
const maxDescriptors = 16_384
const maxRows = 100_000
/** `struct file_lock`, rounded up. Source: `file_lock_cache` in `/proc/slabinfo`, Linux 6.18. */
const lockBytes = 200

/** The same numbers on all of Linux's architectures. */
const calls = { pidfdOpen: 434n, pidfdGetfd: 438n }
/** `PIDFD_THREAD`, Linux 6.9. */
const ofThread = 0o200n
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

/** The sockets in a run's network, with those of no descriptor. */
function usedSockets(pid: number): number {
  return Number(/^sockets: used (\d+)/m.exec(read(`/proc/${pid}/net/sockstat`))?.[1] ?? 0)
}

/** The states of connections that are no sockets any more, or not yet: TIME_WAIT, NEW_SYN_RECV. */
const noSocket = new Set(["06", "0C"])

/** Connections that no program has accepted yet, or that were closed before all was sent. */
function unownedConnections(pid: number): number {
  const rowsOf = (name: string) =>
    read(`/proc/${pid}/net/${name}`)
      .split("\n", maxRows)
      .map((line) => line.trim().split(/\s+/))
  const internet = [...rowsOf("tcp"), ...rowsOf("tcp6")].filter(({ 3: state = "", 9: inode }) => inode === "0" && !noSocket.has(state))
  return internet.length + rowsOf("unix").filter(({ 6: inode }) => inode === "0").length
}

class Walk {
  readonly #kernel: Kernel
  readonly #question: KernelMemoryQuestion
  readonly #seen = new Set<string>()
  bytes: number
  #looked = 0
  /** Descriptors that were closed meanwhile. */
  #gone = 0

  constructor(kernel: Kernel, question: KernelMemoryQuestion) {
    this.#kernel = kernel
    this.#question = question
    this.bytes = question.bytes
  }

  /** Adds up the bytes; returns the number of hidden sockets. */
  run(): number {
    const { pid, processes } = this.#question
    const before = usedSockets(pid)
    const found = read(processes).trim().split("\n")
    for (const process of found)
      for (const task of tasksWithDescriptors(process)) if (!this.#isOver) this.#addTask(task, task === process ? 0n : ofThread)
    const used = Math.min(before, usedSockets(pid))
    // A busy server closes some meanwhile. A program could feign many.
    const closed = Math.min(this.#gone, Math.floor(used / 4))
    return Math.max(0, used - this.#seen.size - closed - unownedConnections(pid))
  }

  get #isOver(): boolean {
    return this.bytes > this.#question.enough || this.#looked >= maxDescriptors
  }

  #addTask(task: string, flags: bigint): void {
    const path = `/proc/${task}`
    const pidfd = this.#kernel.syscall(calls.pidfdOpen, BigInt(task), flags, 0n)
    if (pidfd < 0n) return
    for (const descriptor of listed(`${path}/fd`)) {
      if (this.#isOver) break
      this.#looked += 1
      this.#addDescriptor(pidfd, path, descriptor)
    }
    this.#kernel.close(Number(pidfd))
  }

  #addDescriptor(pidfd: bigint, path: string, descriptor: string): void {
    const target = orElse("", () => readlinkSync(`${path}/fd/${descriptor}`))
    if (target === "") this.#gone += 1
    else if (target.startsWith("socket:")) {
      if (this.#seen.has(target)) return
      const bytes = bytesOfSocket(this.#kernel, pidfd, descriptor)
      if (bytes === undefined) return
      this.#seen.add(target)
      this.bytes += bytes
    } else if (this.#question.countsLocks && target.startsWith("/")) this.bytes += locksOf(path, descriptor) * lockBytes
  }
}

const read = (path: string) => orElse("", () => readFileSync(path, "latin1"))

/** Locks that a process has on a file. */
function locksOf(path: string, descriptor: string): number {
  return read(`${path}/fdinfo/${descriptor}`).split("\nlock:").length - 1
}

async function answerAll(): Promise<void> {
  const kernel = loadKernel()
  for (const question of JSON.parse(await text(stdin)) as KernelMemoryQuestion[]) {
    const started = process.cpuUsage()
    const walk = new Walk(kernel, question)
    const hidden = walk.run()
    const { user, system } = process.cpuUsage(started)
    const answer: KernelMemoryAnswer = { key: question.key, bytes: walk.bytes, hidden, microseconds: user + system }
    stdout.write(`${JSON.stringify(answer)}\n`)
  }
}

// `bin/compile.js` only imports it.
if (import.meta.main) await answerAll()

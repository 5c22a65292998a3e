import { spawn } from "node:child_process"
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { Socket } from "node:net"
import { join } from "node:path"
import { bounds } from "#contract"
import type { ExecContinuation } from "#engine"
import { createProcessId, hasProcessEnded } from "#kit"
import { duplicateDescriptor } from "./duplicate-descriptor.ts"

/** Everything about a shell that another process needs to go on with it. */
export interface ShellRecord {
  id: string
  userId: number
  runKey: string
  runId: number
  /** The proof of the client that attached last. */
  credentialId: string
  /** The engine's own. */
  program: unknown
}

interface StoredRecord extends ShellRecord {
  /** The process that serves the shell. */
  server: string
  holder: { processId: number; identity: string }
}

/** A shell of a process that died. */
export interface RecoveredShell {
  record: ShellRecord
  socket: Socket
  scrollback: Uint8Array
}

const heldDescriptor = 3

/**
 * Waits for the server to die, which closes its input, and then as long as a shell waits for its
 * client. Its only purpose is descriptor 3: while a process has the shell's connection to the
 * engine open, the shell goes on.
 */
const holderScript = `read -r _; exec sleep ${bounds.control.detachedMs.value / 1_000}`

/** Lets shells survive this process, with a record of each on the disk. */
export class ShellRecovery {
  readonly #directory: string
  readonly #holders = new Map<string, number>()
  readonly #processId = createProcessId()
  /** One write after the other. */
  #writes = new Map<string, Promise<void>>()

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Lets a shell survive this process from now on. */
  async register(record: ShellRecord, { socket }: ExecContinuation): Promise<void> {
    const holder = spawn("/bin/sh", ["-c", holderScript], {
      detached: true,
      env: { PATH: "/usr/bin:/bin" },
      stdio: ["pipe", "ignore", "ignore", socket],
    })
    for (const each of [holder, holder.stdin]) each?.on("error", () => {})
    holder.unref()
    if (holder.pid === undefined) return
    this.#holders.set(record.id, holder.pid)
    await this.update(record)
  }

  /** Stores a record that changed. */
  update(record: ShellRecord): Promise<void> {
    const processId = this.#holders.get(record.id)
    if (processId === undefined) return Promise.resolve()
    const stored: StoredRecord = { ...record, server: this.#processId, holder: { processId, identity: createProcessId(processId) } }
    return this.#write(record.id, ".json", Buffer.from(JSON.stringify(stored)))
  }

  /** Stores the last output of a shell. */
  storeScrollback(id: string, bytes: Uint8Array): Promise<void> {
    return this.#holders.has(id) ? this.#write(id, ".output", bytes) : Promise.resolve()
  }

  /** The shell has ended. */
  async forget(id: string): Promise<void> {
    const holder = this.#holders.get(id)
    this.#holders.delete(id)
    if (holder === undefined) return
    endHolder(holder)
    await this.#writes.get(id)
    this.#writes.delete(id)
    await this.#remove(id)
  }

  /** Takes over the shells of processes that died. Each is claimed once, by one process. */
  async claim(): Promise<RecoveredShell[]> {
    const names: string[] = await readdir(this.#directory).catch(() => [])
    await Promise.all(names.filter((name) => !names.includes(`${name.split(".")[0]}.json`)).map((name) => this.#removeOld(name)))
    const found = await Promise.all(
      names.filter((name) => name.endsWith(".json")).map((name) => this.#claim(name.slice(0, -".json".length))),
    )
    return found.filter((shell) => shell !== undefined)
  }

  async #claim(id: string): Promise<RecoveredShell | undefined> {
    const path = join(this.#directory, id)
    try {
      const stored = JSON.parse(await readFile(`${path}.json`, "utf8")) as StoredRecord
      if (!hasProcessEnded(stored.server)) return undefined
      // Another process may look at the same moment: one of both renames it.
      await rename(`${path}.json`, `${path}.taken`)
      const scrollback = await readFile(`${path}.output`).catch(() => Buffer.alloc(0))
      const { server: _, holder, ...record } = stored
      const descriptor = hasProcessEnded(holder.identity)
        ? undefined
        : await duplicateDescriptor({ processId: holder.processId, descriptor: heldDescriptor })
      if (!hasProcessEnded(holder.identity)) endHolder(holder.processId)
      await this.#remove(id)
      if (descriptor === undefined) return undefined
      return { record, socket: new Socket({ fd: descriptor, readable: true, writable: true }), scrollback }
    } catch {
      return undefined
    }
  }

  /** A process that died while it took a shell leaves files without a record. */
  async #removeOld(name: string): Promise<void> {
    const path = join(this.#directory, name)
    const found = await stat(path).catch(() => undefined)
    if (found && Date.now() - found.mtimeMs > bounds.control.detachedMs.value) await rm(path, { force: true })
  }

  #write(id: string, ending: string, bytes: Uint8Array): Promise<void> {
    const path = join(this.#directory, `${id}${ending}`)
    const write = async () => {
      await mkdir(this.#directory, { recursive: true, mode: 0o700 })
      await writeFile(`${path}.new`, bytes, { mode: 0o600 })
      await rename(`${path}.new`, path)
    }
    const written = (this.#writes.get(id) ?? Promise.resolve()).then(write).catch(() => {})
    this.#writes.set(id, written)
    return written
  }

  async #remove(id: string): Promise<void> {
    const endings = [".json", ".taken", ".output", ".json.new", ".output.new"]
    await Promise.all(endings.map((ending) => rm(join(this.#directory, `${id}${ending}`), { force: true })))
  }
}

function endHolder(processId: number): void {
  try {
    process.kill(processId, "SIGKILL")
  } catch {
    // It has ended.
  }
}

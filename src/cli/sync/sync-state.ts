import { createHash } from "node:crypto"
import { mkdir, readFile, rename, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import type { CliProcess } from "../io/cli.ts"
import type { BaseEntry } from "./plan.ts"

interface Pair {
  server: string
  remote: string
  local: string
}

/** How both sides were when they were last the same, in `$XDG_STATE_HOME/quayside/sync`. */
export class SyncState {
  readonly entries: Map<string, BaseEntry>
  readonly #file: string
  readonly #pair: Pair

  private constructor(file: string, pair: Pair, entries: Map<string, BaseEntry>) {
    this.#file = file
    this.#pair = pair
    this.entries = entries
  }

  /** Without a file, or with a damaged one, contents are compared, and nothing is removed. */
  static async open({ env }: CliProcess, pair: Pair): Promise<SyncState> {
    const { server, remote, local } = pair
    const name = createHash("sha256")
      .update(JSON.stringify([server, remote, local]))
      .digest("hex")
    const folder = join(env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local", "state"), "quayside", "sync")
    const file = join(folder, `${name.slice(0, 32)}.json`)
    return new SyncState(file, pair, new Map(await readEntries(file)))
  }

  async save(): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 })
    const draft = `${this.#file}.${process.pid}`
    await writeFile(draft, JSON.stringify({ ...this.#pair, entries: Object.fromEntries(this.entries) }), { mode: 0o600 })
    await rename(draft, this.#file)
  }
}

async function readEntries(file: string): Promise<[string, BaseEntry][]> {
  try {
    const { entries } = JSON.parse(await readFile(file, "utf8")) as { entries: Record<string, BaseEntry> }
    return Object.entries(entries).filter(([, entry]) => entry.kind === "directory" || typeof entry.tag === "string")
  } catch {
    return []
  }
}

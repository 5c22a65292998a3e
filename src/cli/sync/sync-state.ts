import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { CliProcess } from "../io/cli.ts"
import { replaceFile, stateDirectory } from "../io/private-files.ts"
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
  static async open(process: CliProcess, pair: Pair): Promise<SyncState> {
    const { server, remote, local } = pair
    const name = createHash("sha256")
      .update(JSON.stringify([server, remote, local]))
      .digest("hex")
    const file = join(stateDirectory(process), "sync", `${name.slice(0, 32)}.json`)
    return new SyncState(file, pair, new Map(await readEntries(file)))
  }

  async save(): Promise<void> {
    await replaceFile(this.#file, JSON.stringify({ ...this.#pair, entries: Object.fromEntries(this.entries) }))
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

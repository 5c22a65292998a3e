import { copyFileSync, existsSync, fdatasyncSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bounds } from "#contract"
import { type Clock, silentLogger, systemClock } from "#kit"
import { openStore, type Store } from "#store"
import { type People, populate } from "./people.ts"

/** The files of a database at one moment, by their ending. */
export type DatabaseCopy = ReadonlyMap<string, Buffer>

/** Memory is much quicker than a disk, and a killed process loses nothing of either. */
const memory = "/dev/shm"
const endings = ["", "-wal"]

/** A populated database from which each seed gets its own copy. */
export class DatabaseFiles implements Disposable {
  readonly people: People
  readonly #folder: string

  private constructor(folder: string, people: People) {
    this.#folder = folder
    this.people = people
  }

  static async make(): Promise<DatabaseFiles> {
    const folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), "quayside-simulation-"))
    const file = join(folder, "first.db")
    await using store = await open(file, systemClock)
    return new DatabaseFiles(folder, await populate(store))
  }

  /** Opens a fresh copy of the populated database. */
  openNew(clock: Clock): Promise<Store> {
    for (const ending of [...endings, "-shm"]) rmSync(`${this.#file}${ending}`, { force: true })
    copyFileSync(join(this.#folder, "first.db"), this.#file)
    return open(this.#file, clock)
  }

  /** The files as they are. No change may be in progress. */
  copy(): DatabaseCopy {
    return new Map(endings.flatMap((ending) => (existsSync(this.#file + ending) ? [[ending, readFileSync(this.#file + ending)]] : [])))
  }

  /** Puts an older copy in place. The database must be closed. */
  restore(copy: DatabaseCopy, clock: Clock): Promise<Store> {
    for (const ending of ["-wal", "-shm"]) rmSync(`${this.#file}${ending}`, { force: true })
    for (const [ending, bytes] of copy) writeFileSync(this.#file + ending, bytes)
    return open(this.#file, clock)
  }

  get #file(): string {
    return join(this.#folder, "quayside.db")
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true })
  }
}

/** The disk reserve exists already, as a file without blocks: filling it would take most time. */
function open(file: string, clock: Clock): Promise<Store> {
  const ballast = `${file}.ballast`
  writeFileSync(ballast, "", { flag: "a" })
  truncateSync(ballast, bounds.storage.diskReserveBytes.value)
  // The thread pool would answer at some real time.
  const flush = async (descriptor: number) => fdatasyncSync(descriptor)
  return openStore({ url: `sqlite:${file}`, logger: silentLogger, clock, isMoved: true, flush })
}

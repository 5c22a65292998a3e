import { closeSync, constants, fdatasyncSync, fstatSync, ftruncateSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs"
import { hiddenFolder } from "./address.ts"
import type { Folder } from "./descriptor.ts"
import { Refusal, refusalOf } from "./refusal.ts"
import { attempt } from "./remove.ts"

/** One change, a line of the log. */
type Entry =
  | { set: string; key: string; value: string }
  | { unset: string; key: string }
  | { forget: string }
  | { move: string; to: string }
  | { copy: string; to: string; deep: boolean }

const fileName = "properties.jsonl"
/** All properties of all people together, as the log holds them. */
const mostBytes = 32 * 2 ** 20
/** A longer log is written anew when less than half of it still counts. */
const longLog = 2 ** 20

/**
 * Properties that clients stored with PROPPATCH, by path. They live in memory from their first use on, and in a log of changes in the hidden place, of which a
 * process that is killed leaves at most a last line cut short. What a container renames loses its properties.
 */
export class DeadProperties implements Disposable {
  readonly #root: Folder
  readonly #byPath = new Map<string, Map<string, string>>()
  #fd: number | undefined
  #loaded = false
  #bytes = 0
  /** The log lacks what memory has: it is written anew before anything is added. */
  #isBehind = false
  /** How long the log was when it was last written anew. */
  #compacted = 0

  constructor(root: Folder) {
    this.#root = root
  }

  /** All properties by path; undefined when there are none. */
  opened(): ReadonlyMap<string, ReadonlyMap<string, string>> | undefined {
    this.#load()
    return this.#byPath.size > 0 ? this.#byPath : undefined
  }

  /** Applies all changes; null removes one. */
  patch(path: string, changes: readonly { key: string; value: string | null }[]): void {
    this.#load()
    this.#write(changes.map(({ key, value }) => (value === null ? { unset: path, key } : { set: path, key, value })))
  }

  forget(path: string): void {
    if (this.#has(path)) this.#follow([{ forget: path }])
  }

  move(path: string, to: string): void {
    if (this.#has(path) || this.#has(to)) this.#follow([{ forget: to }, { move: path, to }])
  }

  /** Where there is no room for them the copy has none. */
  copy(path: string, to: string, deep: boolean): void {
    if (this.#has(path) || this.#has(to)) this.#follow([{ forget: to }, { copy: path, to, deep }], [{ forget: to }])
  }

  /** The files have changed already, and nobody is told otherwise: what the disk has no room for, of which `least` is what must be, counts in memory, and the log catches up with the next change that finds room. */
  #follow(entries: readonly Entry[], least = entries): void {
    try {
      this.#write(entries)
    } catch (error) {
      if (refusalOf(error)?.code !== "storage_full") throw error
      this.#isBehind = true
      for (const entry of least) apply(this.#byPath, entry)
    }
  }

  #has(path: string): boolean {
    this.#load()
    return [...this.#byPath.keys()].some((one) => isWithin(one, path))
  }

  #load(): void {
    if (this.#loaded) return
    this.#loaded = true
    const text = this.#read()
    this.#bytes = text.length
    for (const line of text.split("\n")) {
      const entry = parse(line)
      if (entry) apply(this.#byPath, entry)
    }
  }

  #read(): string {
    try {
      using hidden = this.#root.folder(hiddenFolder)
      const fd = hidden.open(fileName, constants.O_RDONLY)
      try {
        return fstatSync(fd).isFile() ? readFileSync(fd, "utf8") : ""
      } finally {
        closeSync(fd)
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return ""
      throw error
    }
  }

  #write(entries: readonly Entry[]): void {
    const text = textOf(entries)
    if (this.#isBehind || this.#bytes + text.length > Math.max(longLog, 2 * this.#compacted)) this.#compact()
    if (this.#bytes + text.length > mostBytes) throw new Refusal(507, "storage_full", "There is no room for more properties")
    append(this.#open(), text)
    this.#bytes += text.length
    for (const entry of entries) apply(this.#byPath, entry)
  }

  /** Puts a log in place that holds what still counts and nothing else. */
  #compact(): void {
    const entries = [...this.#byPath].flatMap(([path, stored]) => [...stored].map(([key, value]) => ({ set: path, key, value })))
    const text = textOf(entries)
    using hidden = this.#root.folder(hiddenFolder)
    const fd = hidden.open(`${fileName}.new`, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND, 0o600)
    try {
      append(fd, text)
      fdatasyncSync(fd)
      renameSync(hidden.at(`${fileName}.new`), hidden.at(fileName))
    } catch (error) {
      attempt(() => unlinkSync(hidden.at(`${fileName}.new`)))
      throw error
    } finally {
      closeSync(fd)
    }
    this[Symbol.dispose]()
    this.#bytes = text.length
    this.#compacted = text.length
    this.#isBehind = false
  }

  #open(): number {
    if (this.#fd !== undefined) return this.#fd
    using hidden = this.#root.folder(hiddenFolder)
    this.#fd = hidden.open(fileName, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, 0o600)
    return this.#fd
  }

  [Symbol.dispose](): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }
}

/** All of it or nothing: the kernel writes what fits. */
function append(fd: number, text: string): void {
  const { size } = fstatSync(fd)
  try {
    writeFileSync(fd, text)
  } catch (error) {
    ftruncateSync(fd, size)
    throw error
  }
}

/** A line that a crash cut short ends where the next entries begin. */
function textOf(entries: readonly Entry[]): string {
  return `\n${entries.map((entry) => JSON.stringify(entry)).join("\n")}\n`
}

function parse(line: string): Entry | undefined {
  try {
    return line === "" ? undefined : (JSON.parse(line) as Entry)
  } catch {
    return undefined
  }
}

type ByPath = Map<string, Map<string, string>>

function apply(all: ByPath, entry: Entry): void {
  if ("set" in entry) all.set(entry.set, (all.get(entry.set) ?? new Map()).set(entry.key, entry.value))
  else if ("unset" in entry) unset(all, entry.unset, entry.key)
  else if ("forget" in entry) for (const path of within(all, entry.forget)) all.delete(path)
  else if ("move" in entry) transfer(all, { from: entry.move, to: entry.to, deep: true, moves: true })
  else transfer(all, { from: entry.copy, to: entry.to, deep: entry.deep, moves: false })
}

function unset(all: ByPath, path: string, key: string): void {
  const stored = all.get(path)
  stored?.delete(key)
  if (stored?.size === 0) all.delete(path)
}

function transfer(all: ByPath, step: { from: string; to: string; deep: boolean; moves: boolean }): void {
  for (const path of within(all, step.from)) {
    const stored = all.get(path)
    if (!stored || !(step.deep || path === step.from)) continue
    all.set(step.to + path.slice(step.from.length), new Map(stored))
    if (step.moves) all.delete(path)
  }
}

const within = (all: ByPath, path: string): string[] => [...all.keys()].filter((one) => isWithin(one, path))
const isWithin = (one: string, path: string): boolean => one === path || one.startsWith(path === "/" ? "/" : `${path}/`)

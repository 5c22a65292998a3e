import type { Stats } from "node:fs"
import type { DirectoryHandle, EntryName } from "../tree/directory-handle.ts"
import { ignoreErrors } from "../tree/ignore-errors.ts"
import { DeepScan } from "./deep-scan.ts"
import type { QuotaProjectLabels } from "./quota-project-labels.ts"
import type { StorageAccount, StorageCount, StorageSettings } from "./storage.ts"
import type { TrashPart } from "./trash-parts.ts"

/** Levels that are open at the same time. */
const maxOpenLevels = 16
/** Directories below these levels that are still to be opened. */
const maxPending = 100_000
/** Areas of one person that are counted separately. */
const maxAreas = 10_000

type ScanSettings = Pick<StorageSettings, "minEntryBytes" | "maxHardLinks">

/** Directories of another account, and areas of their own, as a tree of names. */
interface Mark {
  kind: "excluded" | "subArea" | undefined
  below: Map<string, Mark>
}

interface ScanPosition {
  root: string
  /** Names below the root. */
  names: readonly EntryName[]
  /** The root, or the innermost sub-area that contains the entry. */
  area: string
  mark: Mark | undefined
}

interface EntryOptions {
  /** Of the directory below the root. */
  level: number
  labelsFiles: boolean
}

/**
 * Counts what one account stores: each `next()` of `steps` looks at one entry. The scan opens
 * directories by descriptor and follows no links, so a name that a container swaps leads nowhere
 * else. A file counts its allocated blocks, so holes count nothing. A file with several names
 * counts once.
 */
export class StorageScan {
  bytes = 0
  entries = 0
  isComplete = true
  readonly #areas = new Map<string, number>()
  readonly #root: DirectoryHandle
  readonly #account: StorageAccount
  readonly #settings: ScanSettings
  readonly #seen = new Set<string>()
  readonly #labels: QuotaProjectLabels | undefined

  readonly #trash: readonly TrashPart[]

  /** `labels` labels all entries that are counted. */
  constructor(
    root: DirectoryHandle,
    account: StorageAccount,
    settings: ScanSettings,
    { labels, trash = [] }: { labels?: QuotaProjectLabels | undefined; trash?: readonly TrashPart[] } = {},
  ) {
    this.#root = root
    this.#labels = labels
    this.#trash = trash
    this.#account = account
    this.#settings = settings
  }

  result(tookMs: number, isOver: boolean): StorageCount {
    const { bytes, entries } = this
    return {
      bytes,
      entries,
      isComplete: this.isComplete && isOver,
      areas: Object.fromEntries(this.#areas),
      tookMs,
      refused: this.#labels?.refused ?? 0,
    }
  }

  *steps(): Generator<void> {
    const marks = marksOf(this.#account)
    for (const root of this.#account.roots) {
      yield
      this.#areas.set(root, 0)
      const mark = namesOf(root).reduce<Mark | undefined>((at, name) => at?.below.get(name), marks)
      yield* this.#open({ root, names: [], area: root, mark })
    }
    for (const [folder, parts] of Map.groupBy(this.#trash, (part) => part.folder)) yield* this.#scanTrash(folder, parts)
  }

  *#scanTrash(folder: string, parts: readonly TrashPart[]): Generator<void> {
    const byName = new Map(parts.map((part) => [part.name, part]))
    using held = ignoreErrors(() => openRoot(this.#root, folder))
    const entries = held && opened(held)
    if (!held || !entries) return
    try {
      for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
        yield
        // Directories in it are first moved beside it, under its name with a number.
        const part = byName.get(entry.name.toString("latin1").split("-", 1)[0] ?? "")
        if (!part) continue
        const { root, names, area } = part
        yield* this.#entry(held, { root, names: [...names, entry.name], area, mark: undefined }, { level: 0, labelsFiles: false })
      }
    } finally {
      entries.closeSync()
    }
  }

  *#open(position: ScanPosition): Generator<void> {
    let directory: DirectoryHandle
    try {
      directory = openRoot(this.#root, position.root)
    } catch {
      // Deleted, or replaced by a file.
      return
    }
    using held = directory
    this.#add(position, held.stat())
    yield* this.#walk(held, position, 0)
  }

  *#walk(directory: DirectoryHandle, position: ScanPosition, level: number): Generator<void> {
    const labelsFiles = this.#labels?.labelDirectory(directory) ?? false
    const entries = opened(directory)
    if (!entries) return
    try {
      for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
        yield
        const mark = position.mark?.below.get(entry.name.toString())
        const next = { ...position, names: [...position.names, entry.name], mark }
        if (mark?.kind === "subArea") next.area = `${position.root}/${next.names.join("/")}`
        if (mark?.kind !== "excluded") yield* this.#entry(directory, next, { level, labelsFiles })
      }
    } finally {
      entries.closeSync()
    }
  }

  *#entry(directory: DirectoryHandle, position: ScanPosition, how: EntryOptions): Generator<void> {
    const name = position.names.at(-1) as EntryName
    const stats = look(directory, name)
    if (!stats) return
    this.#add(position, stats)
    if (how.labelsFiles && stats.isFile()) this.#labels?.labelFile(directory, name)
    if (!stats.isDirectory()) return
    let below: DirectoryHandle
    try {
      below = directory.openReadable(name)
    } catch {
      return
    }
    using held = below
    const level = how.level + 1
    yield* level < maxOpenLevels || position.mark?.below.size ? this.#walk(held, position, level) : this.#deep(held, position)
  }

  *#deep(directory: DirectoryHandle, position: ScanPosition): Generator<void> {
    let labelsFiles = false
    const deep = new DeepScan(directory, {
      onDirectory: (each) => {
        labelsFiles = this.#labels?.labelDirectory(each) ?? false
      },
      onEntry: (stats, parent, name) => {
        this.#add(position, stats)
        if (labelsFiles && stats.isFile()) this.#labels?.labelFile(parent, name)
      },
      maxPending,
    })
    yield* deep.steps()
    this.isComplete &&= deep.isComplete
  }

  #add(position: ScanPosition, stats: Stats): void {
    const bytes = this.#taken(stats)
    this.bytes += bytes
    this.entries += 1
    const area = this.#areaOf(position)
    this.#areas.set(area, (this.#areas.get(area) ?? 0) + bytes)
  }

  /** Each project of a home is its own area, since runs mount projects separately. */
  #areaOf({ root, names, area: around }: ScanPosition): string {
    const [first, project] = names
    const isProject = project !== undefined && first?.toString() === "projects" && /^\/users\/[^/]+$/.test(root)
    const own = isProject ? `${root}/projects/${project.toString()}` : root
    const area = own.length > around.length ? own : around
    return this.#areas.has(area) || this.#areas.size < maxAreas ? area : root
  }

  #taken(stats: Stats): number {
    const bytes = Math.max(stats.blocks * 512, this.#settings.minEntryBytes)
    if (stats.nlink <= 1 || stats.isDirectory()) return bytes
    const id = `${stats.dev}:${stats.ino}`
    if (this.#seen.has(id)) return 0
    // When the set is full, the size is divided among the file's names.
    if (this.#seen.size >= this.#settings.maxHardLinks) return bytes / stats.nlink
    this.#seen.add(id)
    return bytes
  }
}

function openRoot(root: DirectoryHandle, path: string): DirectoryHandle {
  let here = root.duplicate()
  for (const name of namesOf(path)) {
    using above = here
    here = above.openReadable(name)
  }
  return here
}

const opened = (directory: DirectoryHandle) => ignoreErrors(() => directory.readEntries())

const look = (directory: DirectoryHandle, name: EntryName) => ignoreErrors(() => directory.lstat(name))

/** All marks of an account as one tree of names, whatever the number of its roots. */
function marksOf({ excluded, subAreas }: StorageAccount): Mark {
  const top: Mark = { kind: undefined, below: new Map() }
  for (const path of subAreas) mark(top, namesOf(path), "subArea")
  for (const path of excluded) mark(top, namesOf(path), "excluded")
  return top
}

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "")
}

function mark(top: Mark, names: readonly string[], kind: Mark["kind"]): void {
  let here = top
  for (const name of names) {
    const next = here.below.get(name) ?? { kind: undefined, below: new Map() }
    here.below.set(name, next)
    here = next
  }
  here.kind = kind
}

import { renameSync, rmdirSync } from "node:fs"
import { Failure } from "#contract"
import { deadline, splitPath } from "#kit"
import { fileFailure, forbidden, invalid } from "../failures.ts"
import { isHidden } from "../requests/address.ts"
import type { Workplace } from "../staging/staging-area.ts"
import type { Reservation, StorageLedger } from "../storage/ledger.ts"
import { sever } from "./break-hard-links.ts"
import { copyEntry, type Spot } from "./copy-entry.ts"
import { type Copied, CopyLimit } from "./copy-totals.ts"
import type { Folder } from "./directory-handle.ts"
import type { TreeCall, TreeOptions } from "./file-tree.ts"
import { measure } from "./measure-tree.ts"

type Copy = Extract<TreeCall, { op: "copyTree" }>

/**
 * Does what a `Tree` asks for, by descriptor. Rejects with a `Failure` where the caller can be told
 * why.
 */
export class LocalTree {
  readonly #root: Folder
  readonly #workplace: Workplace

  readonly #storage: StorageLedger

  constructor(root: Folder, workplace: Workplace, storage: StorageLedger) {
    this.#root = root
    this.#workplace = workplace
    this.#storage = storage
  }

  async run(call: TreeCall, options: TreeOptions): Promise<unknown> {
    switch (call.op) {
      case "exists":
        return this.#exists(call.path)
      case "ensureDirectories":
        for (const path of call.paths) this.#ensure(path, namesFor(path))[Symbol.dispose]()
        return true
      case "makeNewDirectory":
        return this.#makeNew(call.path)
      case "removeEmptyDirectory":
        return this.#removeEmpty(call.path)
      case "copyTree":
        return this.#copy(call, options)
      case "move":
        return this.#move(call.from, call.to)
      case "sever":
        return this.#sever(call.path, options)
      case "count":
        return this.#storage.count(call.account)
      default:
        return this.#remove(call.path)
    }
  }

  #exists(path: string): boolean {
    try {
      using _folder = this.#root.descend(splitPath(path))
      return true
    } catch (error) {
      if (isAbsence(error)) return false
      return refuse(path, error)
    }
  }

  #makeNew(path: string): boolean {
    const names = namesFor(path)
    using parent = this.#ensure(path, names.slice(0, -1))
    return explained(path, () => make(parent, names.at(-1) ?? ""))
  }

  #removeEmpty(path: string): void {
    const names = namesFor(path)
    try {
      using parent = this.#root.descend(names.slice(0, -1))
      rmdirSync(parent.at(names.at(-1) ?? ""))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (!isAbsence(error) && code !== "ENOTEMPTY" && code !== "EEXIST") refuse(path, error)
    }
  }

  async #copy(call: Copy, options: TreeOptions): Promise<Copied | null> {
    const { from, to, replace, maxMs } = call
    const [source, target] = [namesFor(from), namesFor(to)]
    const name = target.at(-1) ?? ""
    using parent = this.#ensure(to, target.slice(0, -1))
    if (!replace && parent.look(name)) return null
    using signal = deadline(maxMs, "The copy", options.signal)
    try {
      using above = this.#root.descend(source.slice(0, -1))
      await using stage = this.#workplace.stage(parent)
      using room = await this.#storage.reserve(call.account, parent, { bytes: 0 })
      const spot = { parent: above, name: source.at(-1) ?? "" }
      const copied = await copyAside(call, { spot, stage, room, options: { ...options, signal } })
      if (!stage.parent.look(stage.name)?.isDirectory()) throw notDirectory(from)
      if (replace) await this.#workplace.replace(stage, { parent, name })
      else if (!placed(stage, { parent, name })) return null
      room.settle(copied.bytes)
      return copied
    } catch (error) {
      if (!options.signal?.aborted && (error as Error).name === "TimeoutError") throw tooLong(from, maxMs)
      return refuse(from, error)
    }
  }

  #move(from: string, to: string): boolean {
    const [source, target] = [namesFor(from), namesFor(to)]
    const name = source.at(-1) ?? ""
    using parent = this.#ensure(to, target.slice(0, -1))
    return explained(to, () => {
      try {
        using above = this.#root.descend(source.slice(0, -1))
        if (!above.look(name)?.isDirectory()) return false
        renameSync(above.at(name), parent.at(target.at(-1) ?? ""))
        return true
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return false
        throw error
      }
    })
  }

  async #sever(path: string, { signal }: TreeOptions): Promise<void> {
    if (!this.#exists(path)) return
    const names = namesFor(path)
    try {
      using parent = this.#root.descend(names.slice(0, -1))
      await sever({ parent, name: names.at(-1) ?? "" }, this.#workplace, signal ? { signal } : {})
    } catch (error) {
      refuse(path, error)
    }
  }

  async #remove(path: string): Promise<void> {
    const names = namesFor(path)
    try {
      using parent = this.#root.descend(names.slice(0, -1))
      const name = names.at(-1) ?? ""
      if (parent.look(name)) await this.#workplace.discard(parent, name)
    } catch (error) {
      if (!isAbsence(error)) refuse(path, error)
    }
  }

  #ensure(path: string, names: readonly string[]): Folder {
    let here = this.#root.again()
    for (const name of names) {
      using above = here
      here = explained(path, () => {
        make(above, name)
        return above.folder(name)
      })
    }
    return here
  }
}

interface Aside {
  spot: Spot
  stage: Spot
  room: Reservation
  options: TreeOptions
}

async function copyAside(call: Copy, { spot, stage, room, options }: Aside): Promise<Copied> {
  const { limits, from } = call
  const { onProgress, signal } = options
  const bounds = { ...limits, ...(signal ? { signal } : {}) }
  if (!spot.parent.look(spot.name)?.isDirectory()) throw notDirectory(from)
  const total = await measure(spot, bounds)
  room.grow(total.bytes, stage.parent)
  onProgress?.({ done: { entries: 0, bytes: 0 }, total })
  const copied = await copyEntry(spot, stage, { ...bounds, onProgress: (done) => onProgress?.({ done, total }) })
  onProgress?.({ done: copied, total })
  return copied
}

/**
 * Answers false when somebody else was quicker: the kernel puts no directory over what holds
 * something.
 */
function placed(stage: Spot, to: Spot): boolean {
  try {
    renameSync(stage.parent.at(stage.name), to.parent.at(to.name))
    return true
  } catch (error) {
    if (["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return false
    throw error
  }
}

/** Answers false when the name is taken. */
function make(parent: Folder, name: string): boolean {
  try {
    parent.make(name)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false
    throw error
  }
}

function namesFor(path: string): string[] {
  const names = splitPath(path)
  if (names.length === 0) throw forbidden("The files root itself cannot be changed")
  if (names.some((name, depth) => isHidden(name, depth))) throw invalid(`${path} has a name that Quayside keeps for itself`)
  return names
}

function explained<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    return refuse(path, error)
  }
}

function refuse(path: string, error: unknown): never {
  if (error instanceof Failure) throw error
  const { code } = error as NodeJS.ErrnoException
  if (error instanceof CopyLimit) throw new Failure("conflict", `${path} cannot be copied: ${error.message}`)
  if (code === "ENAMETOOLONG") throw invalid(`A name in ${path} has more than 255 bytes`)
  if (isAbsence(error)) throw new Failure("conflict", `${path} cannot be used: something in it is not a directory, or vanished`)
  const told = fileFailure(error)
  if (told) throw new Failure(told.code, `${path}: ${told.message}`, { status: told.status })
  throw error
}

const notDirectory = (path: string): Failure => new Failure("not_found", `${path} is not a directory`)
const tooLong = (path: string, ms: number): Failure =>
  new Failure("conflict", `${path} cannot be copied: it took longer than ${Math.round(ms / 1_000)} s`)

function isAbsence(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "")
}

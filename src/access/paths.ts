import type { DataRow, Reads } from "#store"
import { type Caller, onlyRun, viewerOf } from "./caller.ts"
import { can, type Grant } from "./policy.ts"
import { dataThing } from "./things.ts"

/**
 * What a person may do with a path below the files root. `none`: it does not exist for them. `passage`: a directory above something they may see, which
 * shows only such entries. `read` and `write` hold for all below it too.
 */
export interface FileAccess {
  level: "none" | "passage" | "read" | "write"
  /** Whether the entry itself may be deleted, replaced or moved: what holds it is writable, and no home or dataset begins at it or below it. */
  own: boolean
}

type Level = FileAccess["level"]
type DataReads = Pick<Reads, "data">

const allSeeing = { userId: 0, groupIds: [], everything: true } as const
const people = "/users"
const order: readonly Level[] = ["none", "passage", "read", "write"]

export function homeOf(userName: string): string {
  return `${people}/${userName}`
}

/** For each path (absolute below the files root, normalized, no trailing slash but the root's own), in the same order. */
export async function fileAccess(reads: DataReads, caller: Caller, paths: readonly string[]): Promise<FileAccess[]> {
  if (onlyRun(caller) !== undefined) return paths.map(() => ({ level: "none", own: false }))
  const datasets = await datasetsAt(reads, new Set(paths.flatMap(lineOf)))
  const question: Question = { reads, caller, datasets, within: new Map() }
  return Promise.all(paths.map((path) => accessTo(question, path)))
}

/** How a dataset may be mounted into the caller's run. `grants`: those in force on it. */
export function mayMount(caller: Caller, dataset: DataRow, grants: readonly Grant[] = []): "rw" | "ro" | "no" {
  const thing = dataThing(dataset, grants)
  if (can(caller, "data:writeFiles", thing) === "yes") return "rw"
  return can(caller, "data:readFiles", thing) === "yes" ? "ro" : "no"
}

interface Question {
  reads: DataReads
  caller: Caller
  /** Live datasets by the directory at which they begin, for every path that was asked and all above it. */
  datasets: ReadonlyMap<string, readonly DataRow[]>
  /** Whether any live dataset lies strictly below a path: asked once for each. */
  within: Map<string, Promise<boolean>>
}

async function accessTo(question: Question, path: string): Promise<FileAccess> {
  const level = levelOf(question, path)
  if (level !== "none") return { level, own: level === "write" && (await isOwn(question, path)) }
  return { level: (await leadsSomewhere(question, path)) ? "passage" : "none", own: false }
}

/** From the home and the datasets that the path lies in; the most that any of them gives counts. */
function levelOf({ caller, datasets }: Question, path: string): Level {
  const most = caller.scopes.includes("write") ? "write" : "read"
  const home = homeOf(caller.userName)
  if (path === home || path.startsWith(`${home}/`)) return most
  // Homes are made with their people and by nothing else.
  if (caller.isAdmin) return path === people ? "read" : most
  let level: Level = "none"
  for (const directory of lineOf(path)) {
    for (const dataset of datasets.get(directory) ?? []) level = higher(level, levelBy(caller, dataset))
  }
  return level
}

function levelBy(caller: Caller, dataset: DataRow): Level {
  const mount = mayMount(caller, dataset)
  return mount === "rw" ? "write" : mount === "ro" ? "read" : "none"
}

function higher(a: Level, b: Level): Level {
  return order.indexOf(a) >= order.indexOf(b) ? a : b
}

async function leadsSomewhere({ reads, caller }: Question, path: string): Promise<boolean> {
  const home = homeOf(caller.userName)
  if (path === "/" || home.startsWith(`${path}/`)) return true
  return reads.data.visibleBelow(path, viewerOf(caller))
}

async function isOwn(question: Question, path: string): Promise<boolean> {
  const parent = parentOf(path)
  if (parent === undefined || path === people || parent === people) return false
  if (levelOf(question, parent) !== "write") return false
  if (question.datasets.has(path)) return false
  // Most directories hold no dataset at all, so one question answers for all their entries.
  return !((await anyBelow(question, parent)) && (await anyBelow(question, path)))
}

function anyBelow({ reads, within }: Question, path: string): Promise<boolean> {
  const known = within.get(path) ?? reads.data.visibleBelow(path, allSeeing)
  within.set(path, known)
  return known
}

/** Live datasets that begin at one of these directories. */
async function datasetsAt(reads: DataReads, directories: ReadonlySet<string>): Promise<Map<string, DataRow[]>> {
  const found = new Map<string, DataRow[]>()
  for (const directory of directories) {
    if (directory === "/" || directory === people) continue
    const { rows } = await reads.data.list({ where: { accessInfo: directory } }, allSeeing, { page: 1, pageSize: 200 })
    if (rows.length > 0) found.set(directory, rows)
  }
  return found
}

/** The path and everything above it: `/a/b` gives `/a/b`, `/a` and `/`. */
function lineOf(path: string): string[] {
  const line = [path]
  for (let at = parentOf(path); at !== undefined; at = parentOf(at)) line.push(at)
  return line
}

function parentOf(path: string): string | undefined {
  if (path === "/") return undefined
  return path.slice(0, path.lastIndexOf("/")) || "/"
}

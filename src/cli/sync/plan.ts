/** A file as one side lists it. The tag names its content at the server. */
export interface FileState {
  kind: "file"
  size: number
  modifiedMs: number
}

export interface RemoteFile extends FileState {
  tag: string
}

export type LocalEntry = FileState | { kind: "directory" } | { kind: "other" }
export type RemoteEntry = RemoteFile | { kind: "directory" }
/** How both sides were when they were last the same. */
export type BaseEntry = RemoteEntry

export interface SyncSides {
  local: ReadonlyMap<string, LocalEntry>
  remote: ReadonlyMap<string, RemoteEntry>
  base: ReadonlyMap<string, BaseEntry>
}

/**
 * - `adopt`: both are the same, and that is remembered; `forget` is the opposite
 * - `compare`: both changed, so their contents are compared
 * - `moveAside`: a file is here and a folder there, or the reverse
 */
export type SyncAction =
  | "removeHere"
  | "removeThere"
  | "moveAside"
  | "createHere"
  | "createThere"
  | "download"
  | "upload"
  | "compare"
  | "adopt"
  | "forget"
  | "skip"

export interface SyncStep {
  path: string
  action: SyncAction
}

/** Removals make room for what is created, and folders come before what is in them. */
const order: readonly SyncAction[] = [
  "forget",
  "removeHere",
  "removeThere",
  "moveAside",
  "adopt",
  "createHere",
  "createThere",
  "compare",
  "download",
  "upload",
  "skip",
]

/** The steps that make both sides the same, in their order. A change of either side survives. */
export function planSteps(sides: SyncSides): SyncStep[] {
  const paths = new Set([...sides.local.keys(), ...sides.remote.keys(), ...sides.base.keys()])
  const steps = [...paths].flatMap((path): SyncStep[] => {
    const action = decide(path, sides)
    return action === undefined ? [] : [{ path, action }]
  })
  return steps.sort((a, b) => order.indexOf(a.action) - order.indexOf(b.action) || compareIn(a.action, a.path, b.path))
}

/** A folder is removed after its content. */
function compareIn(action: SyncAction, a: string, b: string): number {
  const forwards = a < b ? -1 : 1
  return action === "removeHere" || action === "removeThere" ? -forwards : forwards
}

function decide(path: string, { local, remote, base }: SyncSides): SyncAction | undefined {
  const [here, there, before] = [local.get(path), remote.get(path), base.get(path)]
  if (here?.kind === "other") return "skip"
  // A link of this side must not lead what the other side has out of the folder.
  if (!here && isBelowOther(path, local)) return there ? "skip" : undefined
  if (!here && !there) return "forget"
  const changedHere = !isSame(here, before)
  // The server counts the times of what it receives in whole seconds: its tags tell the rest.
  const changedThere = there?.kind !== before?.kind || tagOf(there) !== tagOf(before)
  if (!there) return before && !changedHere ? "removeHere" : here?.kind === "directory" ? "createThere" : "upload"
  if (!here) return before && !changedThere ? "removeThere" : there.kind === "directory" ? "createHere" : "download"
  if (here.kind !== there.kind) return before && !changedHere ? "removeHere" : before && !changedThere ? "removeThere" : "moveAside"
  if (here.kind === "directory") return before ? undefined : "adopt"
  if (changedHere && changedThere) return "compare"
  return changedHere ? "upload" : changedThere ? "download" : undefined
}

function isBelowOther(path: string, local: SyncSides["local"]): boolean {
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
    if (local.get(path.slice(0, at))?.kind === "other") return true
  return false
}

function isSame(entry: LocalEntry | undefined, before: BaseEntry | undefined): boolean {
  if (entry?.kind !== before?.kind) return false
  return entry?.kind !== "file" || before?.kind !== "file" || isUnchanged(entry, before)
}

export function isUnchanged(a: FileState, b: FileState): boolean {
  return a.size === b.size && a.modifiedMs === b.modifiedMs
}

function tagOf(entry: RemoteEntry | undefined): string {
  return entry?.kind === "file" ? entry.tag : ""
}

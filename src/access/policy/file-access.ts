import { type DataRow, type Reads, unrestrictedViewer } from "#store"
import { type Caller, scopedRunId, toViewer } from "../caller.ts"
import { loadGrants } from "./load-grants.ts"
import { can, type PolicyGrant, type Resource } from "./policy.ts"
import { dataResource, missingResource } from "./resources.ts"

/**
 * A person's access to a path below the files root. `none`: it does not exist for them. `traverse`:
 * a directory above something that they may see; it lists only such entries. `read` and `write`
 * apply to everything below too.
 */
export interface FileAccess {
  level: "none" | "traverse" | "read" | "write"
  /**
   * Whether the entry itself may be deleted, replaced or moved: its parent is writable, and no home
   * or dataset begins at it or below it.
   */
  canReplace: boolean
  /**
   * Set if everything below has this level too, and can be replaced exactly if the level is
   * `write`.
   */
  appliesBelow?: true
  /**
   * For writable paths: the person to whose usage stored bytes count. With `appliesBelow`, also for
   * everything below.
   */
  account?: string
  /**
   * Set for writable paths that the caller has without a grant: in their home, in a dataset of
   * theirs, or as an administrator. With `appliesBelow`, also for everything below.
   */
  isOwner?: true
}

type AccessLevel = FileAccess["level"]
type DataReads = Pick<Reads, "data" | "grants">

const people = "/users"
const order: readonly AccessLevel[] = ["none", "traverse", "read", "write"]

export function homePath(userName: string): string {
  return `${people}/${userName}`
}

/**
 * The access to each path (absolute below the files root, normalized, no trailing slash but the
 * root's own), in the same order.
 */
export async function loadFileAccess(reads: DataReads, caller: Caller, paths: readonly string[]): Promise<FileAccess[]> {
  if (scopedRunId(caller) !== undefined) return paths.map(() => ({ level: "none", canReplace: false }))
  const query: AccessQuery = { reads, caller, below: new Map(), around: new Map() }
  return Promise.all(paths.map((path) => accessTo(query, path)))
}

/** How a dataset may be mounted into the caller's run. `grants`: those in force on it. */
export function mountMode(caller: Caller, dataset: DataRow, grants: readonly PolicyGrant[] = []): "rw" | "ro" | "no" {
  return mountOf(caller, dataResource(dataset, grants))
}

/**
 * How each of these datasets may be mounted into the caller's run, grants included. One query, or
 * none; `undefined` stands for a missing dataset, and costs the same as a hidden one.
 */
export async function loadMountModes(
  reads: Pick<Reads, "grants">,
  caller: Caller,
  datasets: readonly (DataRow | undefined)[],
): Promise<Map<number, "rw" | "ro" | "no">> {
  const asked = datasets.map((dataset): Resource => (dataset ? dataResource(dataset) : missingResource("data")))
  const resources = await loadGrants(reads, caller, { actions: ["data:writeFiles"], resources: asked })
  return new Map(resources.map((resource) => [resource.id as number, mountOf(caller, resource)]))
}

function mountOf(caller: Caller, resource: Resource): "rw" | "ro" | "no" {
  if (can(caller, "data:writeFiles", resource) === "yes") return "rw"
  return can(caller, "data:readFiles", resource) === "yes" ? "ro" : "no"
}

/**
 * For each path, the mounts through which runs reach it, as one text: homes, directories of one
 * project, datasets. If two texts are equal, a run that has one path also has the other.
 */
export async function mountKeys(reads: Pick<Reads, "data">, paths: readonly string[]): Promise<string[]> {
  return Promise.all(
    paths.map(async (path) => {
      const own = /^\/users\/[^/]+(?:\/projects(?:\/[^/]+)?)?(?=\/|$)/.exec(path)?.[0]
      const datasets = await reads.data.containing(path)
      return JSON.stringify([own, datasets.map(({ id }) => id).sort()])
    }),
  )
}

/** A dataset's directory, its owner, and the caller's access to it. */
interface DatasetDirectory {
  path: string
  owner: string
  level: AccessLevel
}

interface AccessQuery {
  reads: DataReads
  caller: Caller
  /** Whether any live dataset lies strictly below a path; queried once for each path. */
  below: Map<string, Promise<boolean>>
  /** The live datasets that contain a path; queried once for each path. */
  around: Map<string, Promise<readonly DatasetDirectory[]>>
}

async function accessTo(query: AccessQuery, path: string): Promise<FileAccess> {
  const datasets = await datasetsOf(query, path)
  const level = levelOf(query.caller, path, datasets)
  if (level === "none") return { level: (await leadsToVisible(query, path)) ? "traverse" : "none", canReplace: false }
  const own = level === "write" && (await isOwn(query, path, datasets))
  const account = level === "write" ? accountOf(path, datasets) : undefined
  const isOwner = level === "write" && (isUnconditional(query.caller, path) || account === query.caller.userName)
  const counted = { ...(account === undefined ? {} : { account }), ...(isOwner ? { isOwner } : {}) }
  return isBroad(path) || (await containsDataset(query, path))
    ? { level, canReplace: own, ...counted }
    : { level, canReplace: own, appliesBelow: true, ...counted }
}

/**
 * The owner of the innermost dataset, or else of the home. A deleted dataset counts to the owner of
 * the place where it lies.
 */
function accountOf(path: string, datasets: readonly DatasetDirectory[]): string | undefined {
  const around = datasets.filter((dataset) => isBeneath(path, dataset.path))
  const innermost = around.reduce<DatasetDirectory | undefined>((a, b) => (a && a.path.length >= b.path.length ? a : b), undefined)
  return innermost?.owner ?? /^\/users\/([^/]+)/.exec(path)?.[1]
}

/** From the home and the datasets that contain the path; the highest access wins. */
function levelOf(caller: Caller, path: string, datasets: readonly DatasetDirectory[]): AccessLevel {
  if (isUnconditional(caller, path)) return caller.scopes.includes("write") ? "write" : "read"
  return datasets.map(({ level }) => level).reduce(higher, "none")
}

/** Whether the caller has access without any dataset: to their home, or as an administrator. */
function isUnconditional({ isAdmin, userName }: Caller, path: string): boolean {
  const home = homePath(userName)
  return isAdmin || isBeneath(path, home)
}

const levels = { rw: "write", ro: "read", no: "none" } as const

function higher(a: AccessLevel, b: AccessLevel): AccessLevel {
  return order.indexOf(a) >= order.indexOf(b) ? a : b
}

async function leadsToVisible({ reads, caller }: AccessQuery, path: string): Promise<boolean> {
  if (path === "/" || homePath(caller.userName).startsWith(`${path}/`)) return true
  return reads.data.visibleBelow(path, toViewer(caller))
}

/**
 * Whether a writable path may be replaced: inherited from its parent, except if a home or a dataset
 * begins there.
 */
async function isOwn(query: AccessQuery, path: string, datasets: readonly DatasetDirectory[]): Promise<boolean> {
  const parent = parentOf(path)
  if (parent === undefined || path === people || parent === people) return false
  if (datasets.some((dataset) => dataset.path === path)) return false
  return !(await containsDataset(query, path))
}

/**
 * Whether a live dataset begins strictly below. Most directories contain none, so their parent's
 * answer applies.
 */
async function containsDataset(query: AccessQuery, path: string): Promise<boolean> {
  const parent = parentOf(path) ?? path
  return (isBroad(parent) || (await anyBelow(query, parent))) && (await anyBelow(query, path))
}

/**
 * The live datasets that contain the path or begin at it. If the parent contains none, its answer
 * applies to all its entries. Only the path's owner gets this shortcut: for others the number of
 * queries would reveal that datasets exist.
 */
async function datasetsOf(query: AccessQuery, path: string): Promise<readonly DatasetDirectory[]> {
  const parent = parentOf(path)
  if (parent === undefined || path === people) return []
  if (isBroad(parent) || !isUnconditional(query.caller, path) || (await anyBelow(query, parent))) return datasetsAround(query, path)
  return datasetsAround(query, parent)
}

function datasetsAround(query: AccessQuery, path: string): Promise<readonly DatasetDirectory[]> {
  const known = query.around.get(path) ?? loadDatasetsAround(query, path)
  query.around.set(path, known)
  return known
}

async function loadDatasetsAround({ reads, caller }: AccessQuery, path: string): Promise<DatasetDirectory[]> {
  const around = await reads.data.containing(path)
  // For a person who sees nothing here, a hidden path must cost the same queries as a missing one.
  const asked = around.length > 0 || isUnconditional(caller, path) ? around : [undefined]
  const mounts = await loadMountModes(reads, caller, asked)
  return around.map(({ id, accessInfo, userName }) => ({ path: accessInfo, owner: userName, level: levels[mounts.get(id) ?? "no"] }))
}

function isBeneath(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}

function anyBelow({ reads, below }: AccessQuery, path: string): Promise<boolean> {
  const known = below.get(path) ?? reads.data.visibleBelow(path, unrestrictedViewer)
  below.set(path, known)
  return known
}

/** The shared parents of all people's directories: no dataset begins there. */
function isBroad(path: string): boolean {
  return path === "/" || path === people
}

function parentOf(path: string): string | undefined {
  if (path === "/") return undefined
  return path.slice(0, path.lastIndexOf("/")) || "/"
}

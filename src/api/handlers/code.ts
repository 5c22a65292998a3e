import { homeOf } from "#access"
import { Failure, type Progress, type ReasonCode } from "#contract"
import { EngineError } from "#engine"
import type { Events } from "#events"
import type { CopyProgress, CopyTreeOptions, Tree } from "#files"
import type { Preparing } from "#runs"
import type { ProjectRow, RunRow, Store } from "#store"

/** What a copy of a project's code may hold at most. */
const limits = { maxBytes: 1024 ** 3, maxEntries: 50_000 } as const

type Copying = Pick<CopyTreeOptions, "signal" | "onProgress" | "account">

function directoryFor(userName: string, projectId: number): string {
  return `${homeOf(userName)}/projects/${projectId}`
}

/** Somebody's own directories for a project. */
export function projectDirectories(userName: string, projectId: number) {
  const base = directoryFor(userName, projectId)
  return { code: `${base}/code`, model: `${base}/model`, user: `${base}/user` }
}

/**
 * What the owner released: outside of all homes, so that it stays as it is, whoever owns the
 * project later.
 */
function releaseOf(projectId: number): string {
  return `/projects/${projectId}/release`
}

/**
 * Takes the owner's code as it is now for those who will start the project. Refuses with `conflict`
 * what is too much.
 */
export async function release(tree: Tree, project: Pick<ProjectRow, "id" | "userName">, signal?: AbortSignal): Promise<void> {
  const { code } = projectDirectories(project.userName, project.id)
  await tree.ensureDirectory(code)
  await tree.copyTree(code, releaseOf(project.id), { ...limits, signal, account: project.userName })
}

interface Preparations {
  store: Store
  tree: Tree
  events: Pick<Events, "runWarning">
}

/**
 * Makes the directories of whoever starts a run, before the engine is asked; what is there stays.
 * Code that is not there yet begins as what the project's owner released.
 */
export function prepareRun({ store, tree, events }: Preparations): (run: RunRow, how: Preparing) => Promise<void> {
  return async (run, { report, signal }) => {
    const { userId, userName, projectId } = run
    const own = projectDirectories(userName, projectId)
    const isOwner = (await store.projects.get(projectId))?.userId === userId
    const onProgress = (progress: CopyProgress) => report(progressOf(progress))
    try {
      if (!isOwner) await keepApart({ tree, events }, run)
      if (!isOwner) await begin(tree, { from: releaseOf(projectId), to: own.code }, { signal, onProgress, account: userName })
      await tree.ensureDirectory(own.code, own.model, own.user)
    } catch (error) {
      throw error instanceof Failure ? new EngineError(reasonCodeOf(error), error.message, { cause: error }) : error
    }
  }
}

/**
 * Where it stands that somebody's directories for a project of another were in a run without their
 * home: outside of all that runs mount.
 */
function unvouchedMark({ projectId, userName }: Pick<RunRow, "projectId" | "userName">): string {
  return `/projects/${projectId}/unvouched/${userName}`
}

/**
 * Trust in a stranger's project is trust in what was looked at, which is what its owner released.
 * So what earlier runs without trust began with, or wrote, never comes into a run with its
 * starter's home: it is put aside, and they begin anew. The mark goes last: whoever dies in between
 * does the rest at the next attempt.
 */
async function keepApart({ tree, events }: Omit<Preparations, "store">, run: RunRow): Promise<void> {
  const mark = unvouchedMark(run)
  if (!run.spec.mounts.some(({ source }) => source === homeOf(run.userName))) return tree.ensureDirectory(mark)
  if (!(await tree.exists(mark))) return
  const aside = await putAside(tree, run)
  await tree.removeTree(mark)
  if (aside !== undefined)
    events.runWarning(
      run,
      `This run has your home, and begins anew with what was released: code and models of earlier runs are in ${aside}`,
    )
}

/**
 * Moves code and models to a new directory beside them, and answers its path; undefined where there
 * are none.
 */
async function putAside(tree: Tree, { userName, projectId }: RunRow): Promise<string | undefined> {
  const { code, model } = projectDirectories(userName, projectId)
  let n = 1
  const place = () => `${directoryFor(userName, projectId)}/earlier-${n}`
  while (!(await tree.makeNewDirectory(place()))) n += 1
  const aside = place()
  const moved = [await tree.move(code, `${aside}/code`), await tree.move(model, `${aside}/model`)]
  if (moved.includes(true)) return aside
  await tree.removeEmptyDirectory(aside)
  return undefined
}

function reasonCodeOf({ code }: Failure): ReasonCode {
  return code === "storage_full" ? "disk_full" : "code_unavailable"
}

/** Bytes tell more, unless there are hardly any. */
function progressOf({ done, total }: CopyProgress): Progress {
  const unit = total.bytes >= 2 ** 20 ? "bytes" : "entries"
  return { step: "copying the code", current: done[unit], total: Math.max(done[unit], total[unit]), unit }
}

/**
 * The code of a copy begins as what the copier could start: their own code, or what the owner
 * released.
 */
export async function copyCode(tree: Tree, userName: string, copied: { from: ProjectRow; to: ProjectRow } & Copying): Promise<void> {
  const { from, to, ...how } = copied
  const source = userName === from.userName ? projectDirectories(userName, from.id).code : releaseOf(from.id)
  await begin(tree, { from: source, to: projectDirectories(userName, to.id).code }, { account: userName, ...how })
}

/** Where several begin at once, one of them puts its copy there, and the others' go. */
async function begin(tree: Tree, { from, to }: { from: string; to: string }, how: Copying): Promise<void> {
  if (await tree.exists(from)) await tree.copyTree(from, to, { ...limits, ...how, replace: false })
}

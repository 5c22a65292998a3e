import { homePath, impersonate, projectResource } from "#access"
import { Failure, type Progress, type ReasonCode } from "#contract"
import { EngineError } from "#engine"
import type { CopyProgress, FileTree } from "#files"
import type { PrepareOptions } from "#runs"
import type { RunRow } from "#store"
import { runWhileAllowed } from "../abort-on-revocation.ts"
import type { ProjectsContext } from "../context.ts"
import { makeUniqueDirectory } from "../unique-directory.ts"
import { copyCodeIfMissing, projectDirectories, projectDirectory, releaseDirectory } from "./directories.ts"

/**
 * Makes the directories of the person who starts a run, before the engine is called. Directories
 * that exist stay. New code of somebody else's project is a copy of what its owner released.
 */
export async function prepareRunDirectories(context: ProjectsContext, run: RunRow, { report, signal }: PrepareOptions): Promise<void> {
  const { store, tree, events } = context
  const { userId, userName, projectId } = run
  const own = projectDirectories(userName, projectId)
  const isOwner = (await store.projects.part(projectId))?.userId === userId
  const onProgress = (progress: CopyProgress) => report(progressOf(progress))
  try {
    if (!isOwner) {
      await separateUntrustedCode({ tree, events }, run)
      await copyRelease(context, run, { signal, onProgress })
    }
    await tree.ensureDirectory(own.code, own.model, own.user).catch((error: unknown) => {
      throw error instanceof Failure && error.code === "forbidden" ? unreadableHome(userName, error) : error
    })
  } catch (error) {
    throw error instanceof Failure ? new EngineError(reasonCodeOf(error), error.message, { cause: error }) : error
  }
}

/** Ends within 5 s after its person lost the right to the project: it may take minutes. */
async function copyRelease(
  { store, tree, clock, logger }: ProjectsContext,
  { userId, userName, projectId }: RunRow,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (progress: CopyProgress) => void },
): Promise<void> {
  const identity = { refreshCaller: async () => impersonate(store, await store.users.get(userId), clock.now()) }
  const resource = async () => {
    const project = await store.projects.part(projectId)
    return project && projectResource(project)
  }
  const paths = { from: releaseDirectory(projectId), to: projectDirectories(userName, projectId).code }
  const caller = { userId, credential: { id: "" } }
  await runWhileAllowed(
    { store, identity, clock, logger },
    { caller, signal },
    {
      action: "project:start",
      resource,
      onRevoked: (cause) => {
        const msg = `${userName} may not start the project ${projectId} any more. The right ended while its code was copied`
        return new EngineError("access_withdrawn", msg, { cause })
      },
      work: (allowed) => copyCodeIfMissing(tree, paths, { signal: allowed, onProgress, account: userName }),
    },
  )
}

/**
 * Exists if somebody's directories for another person's project were in a run without their home.
 * It lies outside of everything that runs mount.
 */
function untrustedMarker({ projectId, userName }: Pick<RunRow, "projectId" | "userName">): string {
  return `/projects/${projectId}/unvouched/${userName}`
}

/**
 * An administrator who trusts somebody's project trusts the code that its owner released. Runs
 * without trust may have changed their starter's copy, so it never comes into a run with the
 * starter's home: it is moved away, and the run begins with the release. The marker is removed
 * last: after a crash in between, the next attempt does the rest.
 */
async function separateUntrustedCode({ tree, events }: Pick<ProjectsContext, "tree" | "events">, run: RunRow): Promise<void> {
  const marker = untrustedMarker(run)
  if (!run.spec.mounts.some(({ source }) => source === homePath(run.userName))) return tree.ensureDirectory(marker)
  if (!(await tree.exists(marker))) return
  const earlier = await moveToEarlier(tree, run)
  await tree.removeTree(marker)
  if (earlier !== undefined)
    events.runWarning(
      run,
      `This run has your home, and begins anew with what was released: code and models of earlier runs are in ${earlier}`,
    )
}

/**
 * Moves code and models to a new directory `earlier-…` beside them and returns its path, or
 * undefined if there are none.
 */
async function moveToEarlier(tree: FileTree, { userName, projectId }: RunRow): Promise<string | undefined> {
  const { code, model } = projectDirectories(userName, projectId)
  const earlier = await makeUniqueDirectory(tree, (suffix) => `${projectDirectory(userName, projectId)}/earlier-${suffix}`)
  const moved = [await tree.move(code, `${earlier}/code`), await tree.move(model, `${earlier}/model`)]
  if (moved.includes(true)) return earlier
  await tree.removeEmptyDirectory(earlier)
  return undefined
}

function unreadableHome(userName: string, { message: detail }: Failure): EngineError {
  const home = homePath(userName)
  const hint = `Ask an administrator to give ${home} below the files root to the account of the runs, with \`chown -R\``
  return new EngineError("mount_unreadable", `The home ${home} cannot be opened by runs: the file system does not allow it`, {
    detail,
    hint,
  })
}

function reasonCodeOf({ code }: Failure): ReasonCode {
  return code === "storage_full" ? "disk_full" : "code_unavailable"
}

/** Reports bytes, but entries if there are hardly any bytes. */
function progressOf({ done, total }: CopyProgress): Progress {
  const unit = total.bytes >= 2 ** 20 ? "bytes" : "entries"
  return { step: "copying the code", current: done[unit], total: Math.max(done[unit], total[unit]), unit }
}

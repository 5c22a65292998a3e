import { watch } from "node:fs"
import { mkdir } from "node:fs/promises"
import { resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { openUploadUrlStore } from "../files/upload-url-store.ts"
import type { Cli } from "../io/cli.ts"
import { describeError, exitCodes } from "../io/failures.ts"
import { usageError } from "../io/formats.ts"
import { ProgressLine } from "../io/progress.ts"
import { sanitize, toJson } from "../io/table.ts"
import { DatasetFolder } from "../sync/dataset-folder.ts"
import { syncFilePrefix } from "../sync/ignored.ts"
import { isFolder, LocalFolder } from "../sync/local-folder.ts"
import { SyncState } from "../sync/sync-state.ts"
import { type SyncOptions, type SyncSummary, scanAndPlan, synchronize } from "../sync/synchronize.ts"
import { createRoot, resolveRemotePath } from "./data.ts"

interface Options {
  watch?: boolean
  dryRun?: boolean
  force?: boolean
}

/** How often the server is looked at; changes here are seen at once. */
const pollMs = 10_000
/** An editor writes several files for one change. */
const settleMs = 300

/** Makes a folder and a folder of a dataset the same, once or until Ctrl-C. */
export async function sync(cli: Cli, folder: string, target: string, options: Options): Promise<undefined> {
  if (/^[^:]+:\//.test(target))
    throw usageError("`sync` works with datasets, as DATASET or DATASET:PATH; for a run use `rsync`, see `quayside ssh-config --help`.")
  const root = resolve(folder)
  const { client, root: remoteRoot, token } = await resolveRemotePath(cli, target)
  const state = await SyncState.open(cli.process, { server: token.server, remote: remoteRoot, local: root })
  // Only the first call creates: what has disappeared since must not look like an empty folder.
  const isFirst = state.entries.size === 0 && !options.dryRun
  if (isFirst) await Promise.all([mkdir(root, { recursive: true }), createRoot(client, remoteRoot)])
  if (!(await isFolder(root))) throw usageError(`${folder} is no folder.`)
  await using local = await LocalFolder.open(root)
  const uploadUrls = await openUploadUrlStore(cli.process, token.server)
  const remote = new DatasetFolder(client, uploadUrls, remoteRoot)
  using line = new ProgressLine(cli)
  const job: SyncOptions = {
    local,
    remote,
    state,
    isForced: options.force === true,
    onStep: ({ path, action }) => line.text(`${action} ${path}`),
  }
  if (options.dryRun) return showPlan(cli, job)
  show(cli, await synchronize(job))
  if (options.watch) await syncUntilAborted(cli, job)
  return undefined
}

async function showPlan(cli: Cli, job: SyncOptions): Promise<undefined> {
  const { steps } = await scanAndPlan(job)
  cli.show(steps, () => steps.map(({ path, action }) => `${action.padEnd(12)} ${sanitize(path)}`).join("\n") || "Nothing to do.")
  return undefined
}

/** Until Ctrl-C. A server that cannot be reached for a while ends nothing. */
async function syncUntilAborted(cli: Cli, job: SyncOptions): Promise<void> {
  const { signal } = cli.process
  const changes = watchFolder(job.local.root, signal)
  cli.note("Watching; Ctrl-C ends it.")
  while (!signal.aborted) {
    await Promise.race([changes.next(), sleep(pollMs, undefined, { signal }).catch(() => {})])
    if (signal.aborted) return
    try {
      const summary = await synchronize({ ...job, isForced: false })
      if (hasChanges(summary)) show(cli, summary)
    } catch (error) {
      if (signal.aborted) return
      const { msg, exitCode } = describeError(error, undefined)
      if (exitCode !== exitCodes.unreachable) throw error
      cli.note(`${msg} Trying again …`)
    }
  }
}

/** `next` resolves a moment after something changed in the folder. */
function watchFolder(root: string, signal: AbortSignal): { next(): Promise<void> } {
  let changed = Promise.withResolvers<void>()
  const watcher = watch(root, { recursive: true, signal }, (_event, name) => {
    if (name?.startsWith(syncFilePrefix) !== true) changed.resolve()
  })
  // A system that cannot watch the folder leaves the regular look at it.
  watcher.on("error", () => {})
  return {
    next: async () => {
      await changed.promise
      await sleep(settleMs, undefined, { signal }).catch(() => {})
      changed = Promise.withResolvers<void>()
    },
  }
}

function hasChanges({ uploaded, downloaded, removedHere, removedThere, conflicts }: SyncSummary): boolean {
  return uploaded + downloaded + removedHere + removedThere + conflicts.length > 0
}

function show(cli: Cli, summary: SyncSummary): void {
  const { uploaded, downloaded, removedHere, removedThere, conflicts, skipped } = summary
  for (const path of skipped.slice(0, 10)) cli.note(`Skipped ${sanitize(path)}: neither a file nor a folder.`)
  for (const path of conflicts) cli.note(`Changed on both sides; your version is ${sanitize(path)}`)
  if (cli.isJson) cli.print(toJson(summary))
  else cli.print(`Sent ${uploaded}, received ${downloaded}, removed ${removedHere} here and ${removedThere} there.`)
}

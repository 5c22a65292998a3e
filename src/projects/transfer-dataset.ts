import { Failure } from "#contract"
import type { FileTree } from "#files"
import type { DataRow, DatasetMove, Reads, RunPlan, Store } from "#store"
import type { ProjectsContext } from "./context.ts"
import { makeNewDatasetDirectory } from "./dataset-directory.ts"
import { checkDatasetOverlap } from "./dataset-overlap.ts"
import type { Owner } from "./references.ts"

interface Transfer {
  /** The dataset as the caller read it. */
  dataset: DataRow
  newOwner: Owner
  isPublished: boolean
  /** Names the new directory. */
  name: string
}

/** The change of a dataset's row whose directory has moved. */
export interface PendingTransfer {
  /**
   * Checks the row before and after `change`, and adds the new directory to the changed fields.
   * Throws `conflict` when somebody else changed the row meanwhile.
   */
  complete<Fields extends Partial<DataRow>>(
    tx: Pick<Reads, "data" | "grants" | "runs">,
    stored: DataRow,
    change: () => Promise<Fields>,
  ): Promise<Fields & { accessInfo: string }>
}

/**
 * Transfers a dataset together with its directory. First the move is written down, then the
 * directory is renamed, then `saveRow` changes the row. Then its files lose the names that they
 * have elsewhere, such as in the home that it was in, and the note is deleted. A process that dies
 * in between leaves the note; the next start then moves the directory back, or breaks its hard
 * links.
 */
export async function transferDataset<Result>(
  { store, tree }: Pick<ProjectsContext, "store" | "tree">,
  { dataset, newOwner, isPublished, name }: Transfer,
  saveRow: (moved: PendingTransfer) => Promise<Result>,
): Promise<Result> {
  await checkNotMounted(store, dataset)
  // Hard links that cannot be broken are refused before anything is changed.
  await tree.breakHardLinks(dataset.accessInfo)
  const next = { ...dataset, userId: newOwner.id, isPublished }
  const move: DatasetMove = {
    dataId: dataset.id,
    from: dataset.accessInfo,
    to: await makeNewDatasetDirectory(tree, newOwner.userName, name),
  }
  try {
    await store.change(async (tx) => {
      checkUnchanged(await tx.data.get(dataset.id), dataset)
      await checkDatasetOverlap(tx, next)
      await checkDatasetOverlap(tx, { ...next, accessInfo: move.to })
      if (!(await tx.data.planMove(move)))
        throw new Failure("conflict", `The dataset ${dataset.id} is already being transferred`, { field: "UserName" })
    })
  } catch (error) {
    await tree.removeEmptyDirectory(move.to)
    throw error
  }
  try {
    await tree.move(move.from, move.to)
    return await saveRow(movedDataset(dataset, move))
  } finally {
    await finishMove(store, tree, move)
  }
}

function movedDataset(dataset: DataRow, move: DatasetMove): PendingTransfer {
  return {
    async complete(tx, stored, change) {
      checkUnchanged(stored, dataset)
      await checkNotMounted(tx, dataset)
      const fields = await change()
      await checkDatasetOverlap(tx, { ...stored, ...fields, accessInfo: move.to })
      return { ...fields, accessInfo: move.to }
    },
  }
}

function checkUnchanged(now: DataRow | undefined, { id, version }: DataRow): void {
  if (now?.version !== version) throw new Failure("conflict", `The dataset ${id} was changed by somebody else meanwhile`, { field: "ID" })
}

/**
 * A program that can write to the directory by a mount could create hard links to its files, or
 * remove files while they are searched for links.
 */
async function checkNotMounted(reads: Pick<Reads, "runs">, { accessInfo: at }: DataRow): Promise<void> {
  const canWrite = ({ source, readOnly }: RunPlan["mounts"][number]) => !readOnly && (at === source || at.startsWith(`${source}/`))
  const run = (await reads.runs.live()).find(({ state, spec }) => state !== "queued" && spec.mounts.some(canWrite))
  if (run)
    throw new Failure("conflict", `Run ${run.id} of ${run.userName} can write to ${at}, which would move: stop it first`, {
      field: "UserName",
    })
}

/**
 * Finishes a move in either direction: breaks the directory's hard links if the row has the new
 * path, and otherwise moves the directory back.
 */
async function finishMove(store: Store, tree: FileTree, { dataId, from, to }: DatasetMove): Promise<void> {
  if ((await store.data.get(dataId))?.accessInfo === to) await tree.breakHardLinks(to)
  else {
    await tree.removeEmptyDirectory(to)
    if (await tree.exists(to)) await tree.move(to, from)
    await tree.ensureDirectory(from)
  }
  await store.change((tx) => tx.data.endMove(dataId))
}

/** Another process may be in the middle of a transfer; none takes so long. */
const maxMoveMs = 10_000

/**
 * Finishes the moves that were under way when the service ended. If one cannot be finished, its
 * note stays for the next start, and an error is logged.
 */
export async function finishInterruptedTransfers(
  { store, tree, clock, logger }: Pick<ProjectsContext, "store" | "tree" | "clock" | "logger">,
  signal?: AbortSignal,
): Promise<void> {
  const before = await store.data.moves()
  if (before.length === 0) return
  if (store.dialect === "postgres") await clock.sleep(maxMoveMs, signal)
  const ids = new Set(before.map(({ dataId }) => dataId))
  for (const move of await store.data.moves()) {
    if (!ids.has(move.dataId)) continue
    await finishMove(store, tree, move).catch((err) =>
      logger.error({ err, move }, "an interrupted move of a dataset's directory could not be finished"),
    )
  }
}

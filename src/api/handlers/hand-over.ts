import { type Caller, can, dataResource, homeOf } from "#access"
import { bodyId, type Data, dataFields, Failure, parseBody } from "#contract"
import type { Tree } from "#files"
import type { Clock, Logger } from "#kit"
import type { DataRow, MoveRow, Reads, RunPlan, Store } from "#store"
import type { Context, Handlers, Services } from "../context.ts"
import { checkMatch } from "../http/etag.ts"
import { dataAnswer } from "./answers.ts"
import { data, newPlace } from "./data.ts"
import { update } from "./resource.ts"
import { ownerOf } from "./rules.ts"
import { checkSharing } from "./sharing.ts"

type Given = ReturnType<typeof parseBody<typeof dataFields>>

/** Changes a dataset; one that an administrator hands over takes its directory along. */
async function updateDataset(services: Services, context: Context): Promise<Data> {
  const row = await services.store.data.get(bodyId(context.body))
  const given = parseBody(dataFields, context.body, row && dataAnswer(row))
  if (!row || row.deletedAt !== null || !movesAlong(context.caller, row, given)) return update(data, services, context)
  checkMatch(context.header("if-match"), row)
  return handOver(services, context, { row, name: given.Name ?? row.name })
}

/**
 * Whether a body gives the dataset with its directory to somebody else: naming a directory, be it
 * the same, leaves the files where they are.
 */
function movesAlong(caller: Caller, row: DataRow, given: Given): boolean {
  if (!given.UserName || given.UserName === row.userName || can(caller, "data:handOver", dataResource(row)) !== "yes") return false
  return !given.AccessInfo && !row.accessInfo.startsWith(`${homeOf(given.UserName)}/`)
}

/**
 * Hands a dataset over with its directory. First the move is written down, then the directory is
 * renamed, then the row says so. Then its files lose the names that they have elsewhere, such as in
 * the home that it was in, and the note goes: whoever dies in between leaves the note, by which the
 * next start puts the directory back, or severs it.
 */
async function handOver(services: Services, context: Context, { row, name }: { row: DataRow; name: string }): Promise<Data> {
  const { store, tree } = services
  const given = parseBody(dataFields, context.body, dataAnswer(row))
  const owner = await ownerOf(store, context.caller, given.UserName)
  await demandUnheld(store, row)
  // What cannot be severed is refused before anything is changed.
  await tree.sever(row.accessInfo)
  const next = { ...row, userId: owner.id, isPublished: given.IsPublished ?? row.isPublished }
  const move: MoveRow = { dataId: row.id, from: row.accessInfo, to: await newPlace(services, owner.userName, name) }
  try {
    await store.change(async (tx) => {
      demandSame(await tx.data.get(row.id), row)
      await checkSharing(tx, next)
      await checkSharing(tx, { ...next, accessInfo: move.to })
      if (!(await tx.data.planMove(move)))
        throw new Failure("conflict", `The dataset ${row.id} is being handed over`, { field: "UserName" })
    })
  } catch (error) {
    await tree.removeEmptyDirectory(move.to)
    throw error
  }
  try {
    await tree.move(move.from, move.to)
    return await update(arriving(row, move), services, context)
  } finally {
    await settle(store, tree, move)
  }
}

/**
 * The change of the row once its directory is at the new place; refused when somebody changed the
 * row meanwhile.
 */
function arriving(row: DataRow, move: MoveRow): typeof data {
  return {
    ...data,
    async change(services, tx, context, stored) {
      demandSame(stored, row)
      await demandUnheld(tx, row)
      const fields = await data.change(services, tx, context, stored)
      await checkSharing(tx, { ...stored, ...fields, accessInfo: move.to })
      return { ...fields, accessInfo: move.to }
    },
  }
}

function demandSame(now: DataRow | undefined, { id, version }: DataRow): void {
  if (now?.version !== version) throw new Failure("conflict", `The dataset ${id} was changed by somebody else meanwhile`, { field: "ID" })
}

/**
 * A program that can write to the directory by one mount could go on giving its files names, or
 * taking them away from who looks for them.
 */
async function demandUnheld(reads: Pick<Reads, "runs">, { accessInfo: at }: DataRow): Promise<void> {
  const holds = ({ source, readOnly }: RunPlan["mounts"][number]) => !readOnly && (at === source || at.startsWith(`${source}/`))
  const held = (await reads.runs.live()).find(({ state, spec }) => state !== "queued" && spec.mounts.some(holds))
  if (held)
    throw new Failure("conflict", `Run ${held.id} of ${held.userName} can write to ${at}, which would move: stop it first`, {
      field: "UserName",
    })
}

/**
 * Brings a move to its end, whichever that is: the directory is severed where its row says that it
 * has arrived, and put back where not.
 */
async function settle(store: Store, tree: Tree, { dataId, from, to }: MoveRow): Promise<void> {
  if ((await store.data.get(dataId))?.accessInfo === to) await tree.sever(to)
  else {
    await tree.removeEmptyDirectory(to)
    if (await tree.exists(to)) await tree.move(to, from)
    await tree.ensureDirectory(from)
  }
  await store.change((tx) => tx.data.endMove(dataId))
}

/** Another process may be handing something over right now; none takes so long. */
const movingMs = 10_000

/**
 * Settles the directories that were on their way when the service ended. Where one cannot be, the
 * note stays for the next start, and the log says so.
 */
export async function undoMoves(
  { store, tree, clock, logger }: { store: Store; tree: Tree; clock: Clock; logger: Logger },
  signal?: AbortSignal,
): Promise<void> {
  const before = await store.data.moves()
  if (before.length === 0) return
  if (store.dialect === "postgres") await clock.sleep(movingMs, signal)
  const ids = new Set(before.map(({ dataId }) => dataId))
  for (const move of await store.data.moves()) {
    if (!ids.has(move.dataId)) continue
    await settle(store, tree, move).catch((err) =>
      logger.error({ err, move }, "a dataset's directory that was on its way could not be settled"),
    )
  }
}

export const dataUpdateHandlers = {
  updateData: (services, context) => updateDataset(services, context as Context),
} satisfies Partial<Handlers>

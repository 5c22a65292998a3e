import { type Caller, can, dataResource, homePath } from "#access"
import { type Data, dataFields, parseBody, parseBodyId } from "#contract"
import { type MovedDataset, resolveOwner, transferOwnership } from "#projects"
import type { DataRow } from "#store"
import type { Context, Handlers, Services } from "../context.ts"
import { checkMatch } from "../http/etag.ts"
import { dataAnswer } from "./answers.ts"
import { data } from "./data.ts"
import { update } from "./resource.ts"

type Given = ReturnType<typeof parseBody<typeof dataFields>>

/** Changes a dataset. One that an administrator transfers moves with its directory. */
async function updateDataset(services: Services, context: Context): Promise<Data> {
  const { caller } = context
  const row = await services.store.data.get(parseBodyId(context.body))
  const given = parseBody(dataFields, context.body, row && dataAnswer(row))
  if (!row || row.deletedAt !== null || !movesDirectory(caller, row, given)) return update(data, services, context)
  checkMatch(context.header("if-match"), row)
  const newOwner = await resolveOwner(services.store, caller, given.UserName)
  const transfer = { dataset: row, newOwner, isPublished: given.IsPublished ?? row.isPublished, name: given.Name ?? row.name }
  return transferOwnership(services, transfer, (moved) => update(withMove(moved), services, context))
}

/**
 * Whether a body gives the dataset with its directory to somebody else. A body that names a
 * directory, even the same one, leaves the files in place.
 */
function movesDirectory(caller: Caller, row: DataRow, given: Given): boolean {
  if (!given.UserName || given.UserName === row.userName || can(caller, "data:handOver", dataResource(row)) !== "yes") return false
  return !given.AccessInfo && !row.accessInfo.startsWith(`${homePath(given.UserName)}/`)
}

function withMove(moved: MovedDataset): typeof data {
  return {
    ...data,
    change: (services, tx, context, stored) => moved.complete(tx, stored, () => data.change(services, tx, context, stored)),
  }
}

export const dataUpdateHandlers = {
  updateData: (services, context) => updateDataset(services, context as Context),
} satisfies Partial<Handlers>

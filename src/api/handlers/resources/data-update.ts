import { authorizeWithGrants, type Caller, can, dataResource, homePath } from "#access"
import type { BodyValues, dataFields } from "#contract"
import { type PendingTransfer, resolveOwner, transferDataset } from "#projects"
import type { DataRow } from "#store"
import type { HandlerResult, Handlers, OperationContext } from "../../context.ts"
import { checkIfMatch } from "../../http/etag.ts"
import { toDataResponse } from "../../responses/resources.ts"
import { datasetDefinition, loadChangedDataset, makeDirectory } from "./data.ts"
import { updateResource } from "./owned-resource.ts"

type Given = Partial<BodyValues<typeof dataFields>>

/** Changes a dataset. If an administrator transfers it, its directory moves with it. */
async function updateData(context: OperationContext<"updateData">): Promise<HandlerResult<"updateData">> {
  const { services, caller, body } = context
  const row = await services.store.data.get(body.ID)
  const given = body.check(row && toDataResponse(row))
  if (!row || row.deletedAt !== null) return updateResource(datasetDefinition, context)
  if (!movesDirectory(caller, row, given)) {
    if (given.AccessInfo) await makeGivenDirectory(context, row, given)
    return updateResource(datasetDefinition, context)
  }
  checkIfMatch(context.header("if-match"), row)
  const newOwner = await resolveOwner(services.store, caller, given.UserName)
  const transfer = { dataset: row, newOwner, isPublished: given.IsPublished ?? row.isPublished, name: given.Name ?? row.name }
  return transferDataset(services, transfer, (moved) => updateResource(withMove(moved), context))
}

/** Makes the directory that a body names, if the change is allowed. */
function makeGivenDirectory(context: OperationContext<"updateData">, row: DataRow, given: Given): Promise<void> {
  const { services, caller } = context
  return makeDirectory(context, async () => {
    await authorizeWithGrants(services.store, caller, "data:change", { resource: dataResource(row), what: datasetDefinition.label })
    checkIfMatch(context.header("if-match"), row)
    const { accessInfo } = await loadChangedDataset(services.store, caller, { row, given })
    return accessInfo === row.accessInfo ? undefined : accessInfo
  })
}

/**
 * Whether a body transfers the dataset together with its directory. If it names a directory, even
 * the same one, the files stay in place.
 */
function movesDirectory(caller: Caller, row: DataRow, given: Given): boolean {
  if (!given.UserName || given.UserName === row.userName || can(caller, "data:transferOwnership", dataResource(row)) !== "yes") return false
  return !given.AccessInfo && !row.accessInfo.startsWith(`${homePath(given.UserName)}/`)
}

function withMove(moved: PendingTransfer): typeof datasetDefinition {
  return {
    ...datasetDefinition,
    change: (tx, context, change) => moved.complete(tx, change.row, () => datasetDefinition.change(tx, context, change)),
  }
}

export const dataUpdateHandlers = { updateData } satisfies Partial<Handlers>

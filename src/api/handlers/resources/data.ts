import { authorize, authorizeWithGrants, type Caller, dataResource, newResource } from "#access"
import { type BodyValues, type Data, type dataFields, normalizePath } from "#contract"
import {
  checkDatasetOverlap,
  checkDatasetPath,
  ensureDatasetDirectory,
  makeNewDatasetDirectory,
  resolveNewOwner,
  resolveOwner,
} from "#projects"
import { changesFromBody, type DataRow, fieldsFromBody, longTextBytes, type Reads, tables } from "#store"
import type { HandlerContext, HandlerResult, Handlers, OperationContext } from "../../context.ts"
import { toDataResponse, toSummaryResponses } from "../../responses/resources.ts"
import {
  listResources,
  type ResourceDefinition,
  readResourceById,
  removeResource,
  respondWithETag,
  restoreResource,
} from "./owned-resource.ts"

export const datasetDefinition: ResourceDefinition<DataRow, Data, typeof dataFields> = {
  type: "data",
  label: "dataset",
  published: "isPublished",
  name: "name",
  table: tables.datasets,
  columns: {},
  reads: (reads) => reads.data,
  writes: (tx) => tx.data,
  resource: (row) => dataResource(row),
  toResponses: async (_context, rows) => rows.map(toDataResponse),
  toSummaries: async (_context, found) => toSummaryResponses(found, toDataResponse),
  stored: toDataResponse,
  async change(tx, { caller }, { row, given }) {
    const { name, comment, doc, accessInfo, isPublished, type, userId } = await loadChangedDataset(tx, caller, { row, given })
    return { name, comment, doc, accessInfo, isPublished, type, userId }
  },
  checkRestore: (tx, row) => checkDatasetOverlap(tx, row),
}

/** The row with a body's changes. Throws if the caller may not make them. */
export async function loadChangedDataset(
  reads: Pick<Reads, "users" | "data" | "grants">,
  caller: Caller,
  { row, given }: { row: DataRow; given: Partial<BodyValues<typeof dataFields>> },
): Promise<DataRow> {
  const resource = dataResource(row)
  const owner = await resolveNewOwner(reads, caller, { resource, userName: row.userName, given: given.UserName })
  if (given.IsPublished !== undefined && given.IsPublished !== row.isPublished)
    await authorizeWithGrants(reads, caller, "data:publish", { resource, what: "dataset" })
  const next = { ...row, ...changesOf(given), ...(owner ? { userId: owner.id, userName: owner.userName } : {}) }
  if (next.accessInfo === "") next.accessInfo = row.accessInfo
  const isInPlace = next.accessInfo === row.accessInfo
  if (!isInPlace) checkDatasetPath(caller, next.accessInfo)
  // The check may read thousands of datasets, while all other changes wait.
  const hasSameRights = next.userId === row.userId && next.isPublished === row.isPublished
  if (!isInPlace || !hasSameRights) await checkDatasetOverlap(reads, next, { isInPlace })
  return next
}

/**
 * Makes the directory of a dataset before the change that names it: all other changes would wait
 * for a path of hundreds of names. `check` throws if the change is not allowed, and returns the
 * path to make.
 */
export function makeDirectory(
  { services, server, caller }: Pick<HandlerContext, "services" | "server" | "caller">,
  check: () => Promise<string | undefined>,
): Promise<void> {
  return server.datasetDirectories.run(caller.userId, async () => {
    const path = await check()
    if (path !== undefined) await ensureDatasetDirectory(services.tree, path)
  })
}

/** The row's fields that a body changes, with its path in normal form. */
function changesOf(given: Partial<BodyValues<typeof dataFields>>) {
  const fields = changesFromBody(tables.datasets, given)
  return fields.accessInfo === undefined ? fields : { ...fields, accessInfo: normalizePath(fields.accessInfo) }
}

async function createData(context: OperationContext<"createData">): Promise<HandlerResult<"createData">> {
  const { services, caller, body: values } = context
  const owner = await resolveOwner(services.store, caller, values.UserName)
  authorize(caller, "data:create", { resource: newResource("data", owner.id), what: "dataset" })
  const wanted = normalizePath(values.AccessInfo)
  if (wanted !== "") checkDatasetPath(caller, wanted)
  const accessInfo = wanted === "" ? await makeNewDatasetDirectory(services.tree, owner.userName, values.Name) : wanted
  const fields = { ...fieldsFromBody(tables.datasets, values), accessInfo, userId: owner.id }
  if (wanted !== "") {
    await makeDirectory(context, async () => {
      await checkDatasetOverlap(services.store, fields)
      return wanted
    })
  }
  const row = await services.store
    .change(async (tx) => {
      await context.server.objectLimits.checkRoom(tx, caller, owner.id, { textBytes: longTextBytes(tables.datasets, fields) })
      await checkDatasetOverlap(tx, fields)
      const made = await tx.data.insert(fields)
      await services.events.changed(tx, context.actor, { verb: "created", resource: { type: "data", id: made.id } })
      return made
    })
    .catch(async (error) => {
      if (wanted === "") await services.tree.removeEmptyDirectory(accessInfo)
      throw error
    })
  return respondWithETag(datasetDefinition, context, row)
}

/** `ID` alone reads one dataset; everything else is a list. */
function listData(context: OperationContext<"listData">): Promise<HandlerResult<"listData">> {
  const { ID: [id, ...more] = [], ...others } = context.query
  const isOne = id !== undefined && more.length === 0 && Object.keys(others).length === 0
  return isOne ? readResourceById(datasetDefinition, context, id) : listResources(datasetDefinition, context)
}

export const dataHandlers = {
  createData,
  deleteData: (context) => removeResource(datasetDefinition, context),
  restoreData: (context) => restoreResource(datasetDefinition, context),
  listData,
} satisfies Partial<Handlers>

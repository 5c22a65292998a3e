import { authorize, authorizeWithGrants, dataResource, newResource } from "#access"
import { type Data, dataFields, normalPath, parseBody, parseNew } from "#contract"
import {
  checkDatasetPath,
  checkSharedDirectory,
  ensureDatasetDirectory,
  makeDatasetDirectory,
  resolveNewOwner,
  resolveOwner,
} from "#projects"
import type { DataRow } from "#store"
import type { Context, Handlers, Services } from "../context.ts"
import { omitUndefined } from "../omit-undefined.ts"
import { dataAnswer, draftOf } from "./answers.ts"
import { type Kind, list, oneAnswer, readById, remove, restore } from "./resource.ts"

export const data: Kind<DataRow, Data> = {
  type: "data",
  what: "dataset",
  published: "isPublished",
  name: "name",
  columns: {},
  reads: (reads) => reads.data,
  writes: (tx) => tx.data,
  resource: (row) => dataResource(row),
  answers: async (_services, _context, rows) => rows.map(dataAnswer),
  draft: async (_services, _context, found) => draftOf(found, dataAnswer),
  async change(services, tx, context, row) {
    const { caller } = context
    const given = parseBody(dataFields, context.body, dataAnswer(row))
    const resource = dataResource(row)
    const owner = await resolveNewOwner(tx, caller, { resource, userName: row.userName, given: given.UserName })
    if (given.IsPublished !== undefined && given.IsPublished !== row.isPublished)
      await authorizeWithGrants(tx, caller, "data:publish", { resource, what: "dataset" })
    const next = { ...row, ...omitUndefined(columnsOf(given)), ...(owner ? { userId: owner.id, userName: owner.userName } : {}) }
    if (next.accessInfo === "") next.accessInfo = row.accessInfo
    if (next.accessInfo !== row.accessInfo) checkDatasetPath(caller, next.accessInfo)
    await checkSharedDirectory(tx, next)
    if (next.accessInfo !== row.accessInfo) await ensureDatasetDirectory(services.tree, next.accessInfo)
    const { name, comment, doc, accessInfo, isPublished, type, userId } = next
    return { name, comment, doc, accessInfo, isPublished, type, userId }
  },
  mayRestore: (tx, row) => checkSharedDirectory(tx, row),
}

function columnsOf(given: ReturnType<typeof parseBody<typeof dataFields>>) {
  return {
    type: given.Type,
    name: given.Name,
    comment: given.Comment,
    doc: given.Doc,
    accessInfo: given.AccessInfo === undefined ? undefined : normalPath(given.AccessInfo),
    isPublished: given.IsPublished,
  }
}

async function create(services: Services, context: Context): Promise<Data> {
  const { caller } = context
  const values = parseNew(dataFields, context.body)
  const owner = await resolveOwner(services.store, caller, values.UserName)
  authorize(caller, "data:create", { resource: newResource("data", owner.id), what: "dataset" })
  const wanted = normalPath(values.AccessInfo)
  if (wanted !== "") checkDatasetPath(caller, wanted)
  const accessInfo = wanted === "" ? await makeDatasetDirectory(services.tree, owner.userName, values.Name) : wanted
  const row = await services.store
    .change(async (tx) => {
      const fields = { ...columnsOf(values), accessInfo, userId: owner.id } as Parameters<typeof tx.data.insert>[0]
      await context.server.objectLimits.checkRoom(tx, caller, owner.id)
      await checkSharedDirectory(tx, fields)
      if (wanted !== "") await ensureDatasetDirectory(services.tree, accessInfo)
      const made = await tx.data.insert(fields)
      await services.events.changed(tx, context.actor, { verb: "created", resource: { type: "data", id: made.id } })
      return made
    })
    .catch(async (error) => {
      if (wanted === "") await services.tree.removeEmptyDirectory(accessInfo)
      throw error
    })
  return oneAnswer(data, services, context, row)
}

/** `ID` alone reads one dataset; everything else is a list. */
function listOrRead(services: Services, context: Context) {
  const { ID, ...others } = context.query as { ID?: number[] }
  if (ID?.length === 1 && Object.keys(others).length === 0) return readById(data, services, context, ID[0] as number)
  return list(data, services, context)
}

export const dataHandlers = {
  createData: create as Handlers["createData"],
  deleteData: (services, context) => remove(data, services, context as Context),
  restoreData: (services, context) => restore(data, services, context as Context),
  listData: (services, context) => listOrRead(services, context as Context),
} satisfies Partial<Handlers>

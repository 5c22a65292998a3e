import { type Caller, dataResource, newResource } from "#access"
import { complete, type Data, dataFields, Failure, normalPath, parseBody, slug } from "#contract"
import type { DataRow } from "#store"
import type { Context, Handlers, Services } from "../context.ts"
import { withoutUndefined } from "../given.ts"
import { dataAnswer, draftOf } from "./answers.ts"
import { type Kind, list, oneAnswer, readById, remove, restore } from "./resource.ts"
import { authorize, authorizeWithGrants, newOwnerOf, ownerOf } from "./rules.ts"
import { checkSharing } from "./sharing.ts"

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
    const owner = await newOwnerOf(tx, caller, { resource, userName: row.userName, given: given.UserName })
    if (given.IsPublished !== undefined && given.IsPublished !== row.isPublished)
      await authorizeWithGrants(tx, caller, "data:publish", { resource, what: "dataset" })
    const next = { ...row, ...withoutUndefined(columnsOf(given)), ...(owner ? { userId: owner.id, userName: owner.userName } : {}) }
    if (next.accessInfo === "") next.accessInfo = row.accessInfo
    if (next.accessInfo !== row.accessInfo) checkPlace(caller, next.accessInfo)
    await checkSharing(tx, next)
    if (next.accessInfo !== row.accessInfo) await ensure(services, next.accessInfo)
    const { name, comment, doc, accessInfo, isPublished, type, userId } = next
    return { name, comment, doc, accessInfo, isPublished, type, userId }
  },
  mayRestore: (tx, row) => checkSharing(tx, row),
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

/**
 * Where a person may have a dataset: below their own home, not among the directories of their
 * projects. Administrators: anywhere.
 */
function checkPlace(caller: Caller, path: string): void {
  const home = `/users/${caller.userName}/`
  const projects = `${home}projects`
  if (caller.isAdmin || (path.startsWith(home) && path !== projects && !path.startsWith(`${projects}/`))) return
  throw new Failure(
    "invalid",
    `AccessInfo must be a directory below ${home}, not in its projects; got ${JSON.stringify(path.slice(0, 200))}`,
    { field: "AccessInfo" },
  )
}

async function ensure({ tree }: Services, path: string): Promise<void> {
  await tree.ensureDirectory(path).catch((error: unknown) => {
    if (!(error instanceof Failure) || error.code === "storage_full") throw error
    throw new Failure(error.code, error.message, { field: "AccessInfo", cause: error })
  })
}

/** A new directory of the owner's, with a suffix where the name is taken. */
export async function newPlace(services: Services, userName: string, name: string): Promise<string> {
  const base = `/users/${userName}/datasets/${slug(name, "data")}`
  for (let n = 1; n <= 10_000; n += 1) {
    const path = n === 1 ? base : `${base}-${n}`
    if (await services.tree.makeNewDirectory(path)) return path
  }
  throw new Failure("conflict", `Ten thousand directories are called ${base}: name one with AccessInfo`, { field: "AccessInfo" })
}

async function create(services: Services, context: Context): Promise<Data> {
  const { caller } = context
  const values = complete(dataFields, parseBody(dataFields, context.body))
  const owner = await ownerOf(services.store, caller, values.UserName)
  authorize(caller, "data:create", { resource: newResource("data", owner.id), what: "dataset" })
  const wanted = normalPath(values.AccessInfo)
  if (wanted !== "") checkPlace(caller, wanted)
  const accessInfo = wanted === "" ? await newPlace(services, owner.userName, values.Name) : wanted
  const row = await services.store
    .change(async (tx) => {
      const fields = { ...columnsOf(values), accessInfo, userId: owner.id } as Parameters<typeof tx.data.insert>[0]
      await context.server.objects.demand(tx, caller, owner.id)
      await checkSharing(tx, fields)
      if (wanted !== "") await ensure(services, accessInfo)
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

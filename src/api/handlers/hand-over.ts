import { bodyId, type Data, dataFields, parseBody } from "#contract"
import type { Context, Handlers, Services } from "../context.ts"
import { data, newPlace } from "./data.ts"
import { update } from "./resource.ts"

/** What a directory is to move to, so that a dataset that somebody else gets lies in their own home. */
interface Move {
  from: string
  to: string
}

/**
 * Changes a dataset. One that an administrator hands over takes its directory along from the earlier owner's home, unless they name the place: `AccessInfo`. The new
 * place is kept free before the change and filled right after COMMIT.
 */
async function updateDataset(services: Services, context: Context): Promise<Data> {
  const move = await moveFor(services, context)
  if (!move) return update(data, services, context)
  const moving: typeof data = {
    ...data,
    async change(_services, tx, _context, row) {
      const fields = await data.change(services, tx, context, row)
      tx.afterCommit(() => carryOut(services, move))
      return { ...fields, accessInfo: move.to }
    },
  }
  return update(moving, services, context).catch(async (error) => {
    await services.tree.removeEmptyDirectory(move.to)
    throw error
  })
}

async function moveFor(services: Services, { caller, body }: Context): Promise<Move | undefined> {
  if (!caller.isAdmin) return undefined
  const row = await services.store.data.get(bodyId(body))
  const { UserName, AccessInfo } = parseBody(dataFields, body)
  if (!row || !UserName || UserName === row.userName || AccessInfo) return undefined
  const owner = await services.store.users.byName(UserName)
  if (!owner || owner.deletedAt !== null || !row.accessInfo.startsWith(`/users/${row.userName}/`)) return undefined
  return { from: row.accessInfo, to: await newPlace(services, UserName, row.name) }
}

/** The row is committed by now: what cannot be moved stays where it was, and the log says so. */
function carryOut({ tree, logger }: Services, { from, to }: Move): void {
  try {
    tree.moveOnto(from, to)
  } catch (err) {
    logger.error({ err, from, to }, "the directory of a dataset that was handed over could not be moved")
  }
}

export const dataUpdateHandlers = {
  updateData: (services, context) => updateDataset(services, context as Context),
} satisfies Partial<Handlers>

import { checkWrite, validatorsOf } from "../access/preconditions.ts"
import { invalid, notFound } from "../failures.ts"
import { checkLocks } from "../locks/lock-check.ts"
import type { Call } from "../requests/dav-request.ts"
import { answerEmpty } from "../respond.ts"
import { placeOfExisting } from "../tree/entry-location.ts"

/**
 * A big tree is gone at once, yet its space takes longer to be freed; the answer waits so long for
 * that.
 */
const patienceMs = 20_000

export async function remove(call: Call): Promise<void> {
  await call.owned()
  if (!["infinity", undefined].includes(call.request.headers.depth?.toString().toLowerCase()))
    throw invalid("DELETE takes Depth: infinity only")
  const account = await call.account()
  await waitAWhile(removeNow(call, account))
  answerEmpty(call.response, 204)
}

/** The entry is gone when this returns. */
function removeNow(call: Call, account: string | undefined): Promise<void> {
  const { workplace, locks, properties, storage } = call.scene
  using place = placeOfExisting(call.scene.root, call.names)
  if (call.address.slash && !place.stats.isDirectory()) throw notFound()
  checkWrite(call.request.headers, validatorsOf(place.stats))
  checkLocks(call, [{ names: call.names, member: true, deep: true }])
  const removed = workplace.discard(place.parent, place.name)
  storage.removed(account, place.stats.isDirectory() ? undefined : storage.sizeOf(place.stats))
  locks.forget(call.path)
  properties.forget(call.path)
  return removed
}

async function waitAWhile(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, patienceMs)
  })
  await Promise.race([work, patience]).finally(() => clearTimeout(timer))
}

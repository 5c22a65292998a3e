import { checkWritePreconditions, validatorsOf } from "../access/preconditions.ts"
import { invalid, notFound } from "../failures.ts"
import { checkLocks } from "../locks/lock-check.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { sendEmpty } from "../responses.ts"
import type { Discarded } from "../staging/staging-area.ts"
import { locateExistingEntry } from "../tree/entry-location.ts"

/** A large tree disappears at once, but its space is freed later. The response waits this long. */
const maxWaitMs = 20_000

export async function deleteEntry(request: DavRequest): Promise<void> {
  await request.assertReplaceable()
  if (!["infinity", undefined].includes(request.headers.depth?.toString().toLowerCase())) throw invalid("DELETE takes Depth: infinity only")
  const account = await request.storageAccount()
  const { emptied } = await removeNow(request, account)
  await waitUpTo(emptied)
  sendEmpty(request.response, 204)
}

async function removeNow(request: DavRequest, account: string | undefined): Promise<Discarded> {
  const { staging, locks, deadProperties, storage } = request.context
  using _lock = await request.lockPaths(request.names)
  await request.assertReplaceable()
  using location = await locateExistingEntry(request.root, request.names)
  if (request.address.hasTrailingSlash && !location.stats.isDirectory()) throw notFound()
  checkWritePreconditions(request.headers, validatorsOf(location.stats))
  await checkLocks(request, [{ names: request.names, changesParent: true, isDeep: true }])
  // The look-ups may have waited for programs.
  await request.assertReplaceable()
  const removed = await staging.discard(location.parent, location.name)
  storage.recordRemoval(account, location.stats)
  locks.releaseTree(request.path)
  await deadProperties.remove(request.path, request.userId)
  return removed
}

async function waitUpTo(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, maxWaitMs)
  })
  await Promise.race([work, timeout]).finally(() => clearTimeout(timer))
}

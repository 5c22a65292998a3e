import type { Call } from "./call.ts"
import { checkWrite, validatorsOf } from "./conditions.ts"
import { placeOfExisting } from "./place.ts"
import { invalid, notFound } from "./refusal.ts"
import { answerEmpty } from "./respond.ts"

/** A big tree is gone at once, yet its space takes longer to be freed; the answer waits so long for that. */
const patienceMs = 20_000

export async function remove(call: Call): Promise<void> {
  await call.owned()
  if (!["infinity", undefined].includes(call.request.headers.depth?.toString().toLowerCase()))
    throw invalid("DELETE takes Depth: infinity only")
  await waitAWhile(removeNow(call), call.scene.report)
  answerEmpty(call.response, 204)
}

function removeNow(call: Call): Promise<unknown> {
  using place = placeOfExisting(call.scene.root, call.names)
  if (call.address.slash && !place.stats.isDirectory()) throw notFound()
  checkWrite(call.request.headers, validatorsOf(place.stats))
  return call.scene.workplace.discard(place.parent, place.name)
}

async function waitAWhile(work: Promise<unknown>, report: (error: unknown) => void): Promise<void> {
  let late = false
  let timer: NodeJS.Timeout | undefined
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      late = true
      resolve()
    }, patienceMs)
  })
  work.catch((error) => late && report(error))
  await Promise.race([work, patience]).finally(() => clearTimeout(timer))
}

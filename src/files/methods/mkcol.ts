import { Failure } from "#contract"
import { hasBody } from "#http"
import { checkLocks } from "../locks/lock-check.ts"
import { assertCreatable } from "../requests/address.ts"
import type { Call } from "../requests/dav-request.ts"
import { answerEmpty } from "../respond.ts"
import { placeForNew } from "../tree/entry-location.ts"
import { allowOn } from "./method-names.ts"

/** Makes a directory. */
export async function mkcol(call: Call): Promise<void> {
  await call.writable()
  if (hasBody(call.request)) throw new Failure("unsupported_media_type", "MKCOL takes no body")
  assertCreatable(call.names)
  using place = placeForNew(call.scene.root, call.names)
  if (place.stats) throw exists(place.stats.isDirectory() ? "directory" : "file")
  // Where a home or a dataset would begin, only the service makes it.
  await call.owned()
  const bytes = call.scene.storage.sizeOfAll({ entries: 1, bytes: 0 })
  using room = await call.scene.storage.reserve(await call.account(), place.parent, { bytes })
  checkLocks(call, [{ names: call.names, member: true, deep: false }])
  place.parent.make(place.name)
  room.settle(bytes)
  answerEmpty(call.response, 201)
}

const exists = (kind: "file" | "directory"): Failure =>
  new Failure("method_not_allowed", `A ${kind} of this name exists already`, { headers: allowOn(kind) })

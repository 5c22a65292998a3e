import { Failure } from "#contract"
import { hasBody } from "#http"
import { checkLocks } from "../locks/lock-check.ts"
import { assertValidNewName } from "../requests/address.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { sendEmpty } from "../responses.ts"
import { locateNewEntry } from "../tree/entry-location.ts"
import { allowHeaderFor } from "./method-names.ts"

/** Creates a directory. */
export async function mkcol(request: DavRequest): Promise<void> {
  await request.assertWritable()
  if (hasBody(request.incoming)) throw new Failure("unsupported_media_type", "MKCOL takes no body")
  assertValidNewName(request.names)
  using _lock = await request.lockPaths(request.names)
  await request.assertWritable()
  using location = await locateNewEntry(request.root, request.names)
  if (location.stats) throw exists(location.stats.isDirectory() ? "directory" : "file")
  // Only Quayside itself creates the root of a home or a dataset.
  await request.assertReplaceable()
  const bytes = request.context.storage.maxSizeOf({ entries: 1, bytes: 0 })
  using room = await request.context.storage.reserve(await request.storageAccount(), location.parent, { bytes })
  await checkLocks(request, [{ names: request.names, changesParent: true, isDeep: false }])
  // The look-ups may have waited for programs, and the space for a count.
  await request.assertReplaceable()
  await location.parent.makeDirectory(location.name)
  room.commit(bytes)
  sendEmpty(request.response, 201)
}

const exists = (kind: "file" | "directory"): Failure =>
  new Failure("method_not_allowed", `A ${kind} of this name exists already`, { headers: allowHeaderFor(kind) })

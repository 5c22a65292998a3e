import { bounds } from "#contract"
import { etagOf } from "../access/preconditions.ts"
import { BufferedResponse } from "../methods/buffered-response.ts"
import { visitListing } from "../methods/listing.ts"
import type { DavResource } from "../properties/live-properties.ts"
import { joinPath } from "../requests/address.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { securityHeaders } from "../responses.ts"

const maxEntries = bounds.files.jsonEntries.value

/**
 * Lists a directory's entries in less than half the bytes of a PROPFIND, in no order. `IsComplete`
 * is false when there are more than the response may have.
 */
export async function listJson(request: DavRequest): Promise<void> {
  const level = await request.assertVisible()
  using _directory = await request.root.openDescendant(request.names)
  await request.context.scheduler.waitForSlot(request.userId)
  const body = new BufferedResponse(request.response, {
    status: 200,
    headers: { ...securityHeaders, "Cache-Control": "no-store", "Content-Type": "application/json; charset=utf-8" },
  })
  await body.write(`{"ok":true,"Level":${JSON.stringify(level)},"Entries":[`)
  let count = 0
  const own = joinPath(request.names)
  const add = (resource: DavResource) => {
    if (resource.path === own) return undefined
    if (count === maxEntries) throw new EnoughEntriesError()
    count += 1
    return body.write(`${count > 1 ? "," : ""}\n${JSON.stringify(entryOf(resource))}`)
  }
  const isComplete = await visitListing(request, { depth: "1", level, visit: add }).then(
    () => true,
    (error: unknown) => {
      if (error instanceof EnoughEntriesError) return false
      throw error
    },
  )
  await body.write(`\n],"IsComplete":${isComplete}}\n`)
  body.end()
}

class EnoughEntriesError extends Error {}

function entryOf({ name, stats, isDirectory }: DavResource): object {
  const common = { Name: name, IsDirectory: isDirectory, ModifiedAt: stats.mtime.toISOString() }
  return isDirectory ? common : { ...common, Size: stats.size, ETag: etagOf(stats) }
}

import { bounds, type Failure } from "#contract"
import { DavFailure, invalid } from "../failures.ts"
import type { Lock } from "../locks/lock-table.ts"
import { releaseStaleLocks } from "../locks/stale-locks.ts"
import { parsePropfind } from "../properties/propfind-request.ts"
import { createResponseRenderer } from "../properties/propfind-response.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { securityHeaders } from "../responses.ts"
import { BufferedResponse } from "./buffered-response.ts"
import { type Depth, depths, type ListingVisitor, listingTooDeep, visitListing } from "./listing.ts"
import { readXmlBody } from "./read-xml-body.ts"

const { listingBytes, listingBytesPerEntry } = bounds.files

/**
 * Lists an entry, its children, or everything below. The response is streamed, so the size of a
 * directory does not matter. A first walk for `Depth: infinity` checks the limits before the first
 * byte.
 */
export async function propfind(request: DavRequest): Promise<void> {
  const level = await request.assertVisible()
  const depth = depthOf(request)
  using _slot = depth === "infinity" ? request.context.requestLimiter.acquire(request.userId, "deep") : undefined
  request.sendContinue()
  const wanted = parsePropfind(await readXmlBody(request))
  if (depth !== "0") await request.context.scheduler.waitForSlot(request.userId)
  const render = await createResponseRenderer(wanted, request.context)
  const maxEntries = depth === "infinity" ? request.context.limits.maxDeepEntries : Number.POSITIVE_INFINITY
  if (depth === "infinity") {
    const count = counter(maxEntries)
    await visitListing(request, { depth, level, visit: withoutStaleLocks(request, (resource) => count(render.response(resource))) })
  }
  const body = new BufferedResponse(request.response, {
    status: 207,
    headers: { ...securityHeaders, "Cache-Control": "no-store", "Content-Type": "application/xml; charset=utf-8" },
  })
  await body.write(`<?xml version="1.0" encoding="utf-8"?>\n<D:multistatus xmlns:D="DAV:"${render.namespaces}>\n`)
  const count = counter(maxEntries)
  await visitListing(request, {
    depth,
    level,
    visit: withoutStaleLocks(request, (resource) => {
      const text = render.response(resource)
      count(text)
      return body.write(text)
    }),
  })
  await body.write("</D:multistatus>\n")
  body.end()
}

/** Asks about the holder of a lock when the first entry that it binds is visited. */
function withoutStaleLocks(request: DavRequest, visit: ListingVisitor): ListingVisitor {
  const { locks } = request.context
  const asked = new Set<Lock>()
  return (resource) => {
    const found = locks.locksBinding(resource.path).filter((lock) => !asked.has(lock))
    if (found.length === 0) return visit(resource)
    for (const lock of found) asked.add(lock)
    return releaseStaleLocks(request, found).then(() => visit(resource))
  }
}

/** Throws when the response becomes too large for its number of entries. */
function counter(maxEntries: number): (text: string) => undefined {
  let entries = 0
  let bytes = 0
  return (text) => {
    entries += 1
    bytes += text.length
    if (entries > maxEntries) throw listingTooDeep()
    if (bytes > listingBytes.value + entries * listingBytesPerEntry.value) throw tooLarge()
  }
}

const tooLarge = (): Failure =>
  new DavFailure(
    "forbidden",
    `The response would have more than ${listingBytes.value} bytes and ${listingBytesPerEntry.value} for each entry: ask for fewer properties`,
    { condition: "<D:propfind-finite-depth/>" },
  )

function depthOf(request: DavRequest): Depth {
  const header = String(request.headers.depth ?? "infinity").toLowerCase()
  const depth = depths.find((one) => one === header)
  if (!depth) throw invalid(`Depth must be 0, 1 or infinity, got ${JSON.stringify(header)}`)
  return depth
}

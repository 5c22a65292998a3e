import { bounds, type Failure } from "#contract"
import { readXml } from "../body.ts"
import { DavFailure, invalid } from "../failures.ts"
import { parsePropfind } from "../properties/propfind-request.ts"
import { createResponseRenderer } from "../properties/propfind-response.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { guardHeaders } from "../respond.ts"
import { BufferedResponse } from "./buffered-response.ts"
import { type Depth, depths, tooDeep, visitListing } from "./listing.ts"

const { listingBytes, listingBytesPerEntry } = bounds.files

/**
 * Lists an entry, its children, or everything below. The answer is streamed: a directory's size
 * does not matter. Of everything below, whether it is too much is found out before the first byte
 * is sent.
 */
export async function propfind(request: DavRequest): Promise<void> {
  const level = await request.assertVisible()
  const depth = depthOf(request)
  using _turn = depth === "infinity" ? request.context.requestLimiter.acquire(request.person.userId, "deep") : undefined
  request.sendContinue()
  const propfind = parsePropfind(await readXml(request))
  if (depth !== "0") await request.context.scheduler.waitForSlot(request.person.userId)
  const render = createResponseRenderer(propfind, request.context)
  const maxEntries = depth === "infinity" ? request.context.limits.maxDeepEntries : Number.POSITIVE_INFINITY
  if (depth === "infinity") {
    const count = counter(maxEntries)
    await visitListing(request, { depth, level, visit: (resource) => count(render.response(resource)) })
  }
  const body = new BufferedResponse(request.response, {
    status: 207,
    headers: { ...guardHeaders, "Cache-Control": "no-store", "Content-Type": "application/xml; charset=utf-8" },
  })
  await body.write(`<?xml version="1.0" encoding="utf-8"?>\n<D:multistatus xmlns:D="DAV:"${render.namespaces}>\n`)
  const count = counter(maxEntries)
  await visitListing(request, {
    depth,
    level,
    visit(resource) {
      const text = render.response(resource)
      count(text)
      return body.write(text)
    },
  })
  await body.write("</D:multistatus>\n")
  body.end()
}

/** Refuses an answer that becomes too large for its number of entries. */
function counter(maxEntries: number): (text: string) => undefined {
  let entries = 0
  let bytes = 0
  return (text) => {
    entries += 1
    bytes += text.length
    if (entries > maxEntries) throw tooDeep()
    if (bytes > listingBytes.value + entries * listingBytesPerEntry.value) throw tooLarge()
  }
}

const tooLarge = (): Failure =>
  new DavFailure(
    "forbidden",
    `The answer would have more than ${listingBytes.value} bytes and ${listingBytesPerEntry.value} for each entry: ask for fewer properties`,
    { condition: "<D:propfind-finite-depth/>" },
  )

function depthOf(request: DavRequest): Depth {
  const header = String(request.headers.depth ?? "infinity").toLowerCase()
  const depth = depths.find((one) => one === header)
  if (!depth) throw invalid(`Depth must be 0, 1 or infinity, got ${JSON.stringify(header)}`)
  return depth
}

import { bounds, type Failure } from "#contract"
import { readXml } from "../body.ts"
import { DavFailure, invalid } from "../failures.ts"
import { readWish } from "../properties/propfind-request.ts"
import { responseRenderer } from "../properties/propfind-response.ts"
import type { Call } from "../requests/dav-request.ts"
import { guardHeaders } from "../respond.ts"
import { Sink } from "./buffered-response.ts"
import { listing } from "./listing.ts"

const depths = ["0", "1", "infinity"] as const
export type Depth = (typeof depths)[number]

const { listingBytes, listingBytesPerEntry } = bounds.files

/**
 * Lists an entry, its children, or everything below. The answer is streamed: a directory's size
 * does not matter. Of everything below, whether it is too much is found out before the first byte
 * is sent.
 */
export async function propfind(call: Call): Promise<void> {
  const level = await call.visible()
  const depth = depthOf(call)
  using _turn = depth === "infinity" ? call.scene.turns.take(call.person.userId, "deep") : undefined
  call.proceed()
  const wish = readWish(await readXml(call))
  if (depth !== "0") await call.scene.slices.turn(call.person.userId)
  const render = responseRenderer(wish, call.scene)
  const mostEntries = depth === "infinity" ? call.scene.limits.deepEntries : Number.POSITIVE_INFINITY
  if (depth === "infinity") {
    const count = counter(mostEntries)
    await listing(call, { depth, level, visit: (resource) => count(render.response(resource)) })
  }
  const sink = new Sink(call.response, {
    status: 207,
    headers: { ...guardHeaders, "Cache-Control": "no-store", "Content-Type": "application/xml; charset=utf-8" },
  })
  await sink.add(`<?xml version="1.0" encoding="utf-8"?>\n<D:multistatus xmlns:D="DAV:"${render.namespaces}>\n`)
  const count = counter(mostEntries)
  await listing(call, {
    depth,
    level,
    visit(resource) {
      const text = render.response(resource)
      count(text)
      return sink.add(text)
    },
  })
  await sink.add("</D:multistatus>\n")
  sink.end()
}

/** Refuses an answer that becomes too large for its number of entries. */
function counter(mostEntries: number): (text: string) => undefined {
  let entries = 0
  let bytes = 0
  return (text) => {
    entries += 1
    bytes += text.length
    if (entries > mostEntries) throw tooDeep()
    if (bytes > listingBytes.value + entries * listingBytesPerEntry.value) throw tooLarge()
  }
}

const tooLarge = (): Failure =>
  new DavFailure(
    "forbidden",
    `The answer would have more than ${listingBytes.value} bytes and ${listingBytesPerEntry.value} for each entry: ask for fewer properties`,
    { condition: "<D:propfind-finite-depth/>" },
  )

export const tooDeep = (): Failure =>
  new DavFailure("forbidden", "There is too much below this directory to be listed at once: use Depth 1", {
    condition: "<D:propfind-finite-depth/>",
  })

function depthOf(call: Call): Depth {
  const header = String(call.request.headers.depth ?? "infinity").toLowerCase()
  const depth = depths.find((one) => one === header)
  if (!depth) throw invalid(`Depth must be 0, 1 or infinity, got ${JSON.stringify(header)}`)
  return depth
}

import { readBody } from "./body.ts"
import type { Call } from "./call.ts"
import { listing, type Visit } from "./listing.ts"
import { invalid, Refusal } from "./refusal.ts"
import { responseRenderer } from "./render.ts"
import { guardHeaders } from "./respond.ts"
import { Sink } from "./sink.ts"
import { readWish } from "./wish.ts"
import { mostXml } from "./xml.ts"

const depths = ["0", "1", "infinity"] as const
export type Depth = (typeof depths)[number]

/** Lists an entry, its children, or everything below. The answer is streamed: a directory's size does not matter. */
export async function propfind(call: Call): Promise<void> {
  const level = await call.visible()
  const depth = depthOf(call)
  using _turn = depth === "infinity" ? call.scene.turns.take(call.person.userId, "deep") : undefined
  call.proceed()
  const wish = readWish(await readBody(call.request, mostXml))
  const render = responseRenderer(wish, call.scene)
  const sink = new Sink(call.response, {
    status: 207,
    headers: { ...guardHeaders, "Cache-Control": "no-store", "Content-Type": "application/xml; charset=utf-8" },
    hold: depth === "infinity",
  })
  let count = 0
  const visit: Visit = (resource) => {
    count += 1
    if (depth === "infinity" && count > call.scene.limits.deepEntries) throw tooDeep()
    return sink.add(render(resource))
  }
  await sink.add('<?xml version="1.0" encoding="utf-8"?>\n<D:multistatus xmlns:D="DAV:">\n')
  await listing(call, { depth, level, visit })
  sink.release()
  await sink.add("</D:multistatus>\n")
  sink.end()
}

export const tooDeep = (): Refusal =>
  new Refusal(403, "forbidden", "There is too much below this directory to be listed at once: use Depth 1", {
    condition: "<D:propfind-finite-depth/>",
  })

function depthOf(call: Call): Depth {
  const header = String(call.request.headers.depth ?? "infinity").toLowerCase()
  const depth = depths.find((one) => one === header)
  if (!depth) throw invalid(`Depth must be 0, 1 or infinity, got ${JSON.stringify(header)}`)
  return depth
}

import { lookup } from "node:dns/promises"
import { isIP } from "node:net"
import { abortable, type Clock, deadline } from "#kit"

export type WildcardCheck = () => Promise<{ ok: boolean; msg: string }>

type Lookup = (name: string) => Promise<unknown>

/** Each look-up asks the network. */
const keptMs = 60_000
const lookupMs = 3_000
/** Any name will do; no run has this one. */
const label = "quayside-check"

/**
 * Checks that names below the apps URL's host resolve, as those of runs must; undefined if they
 * need no name server. The answer is cached for a minute.
 */
export function createWildcardCheck(appsUrl: string, { clock, find = lookup }: { clock: Clock; find?: Lookup }): WildcardCheck | undefined {
  const host = new URL(appsUrl).hostname
  if (host === "localhost" || host.endsWith(".localhost") || host.startsWith("[") || isIP(host) !== 0) return undefined
  let kept: { at: number; answer: ReturnType<WildcardCheck> } | undefined
  return () => {
    if (!kept || clock.monotonic() - kept.at > keptMs) kept = { at: clock.monotonic(), answer: resolves(host, find) }
    return kept.answer
  }
}

async function resolves(host: string, find: Lookup): Promise<{ ok: boolean; msg: string }> {
  using late = deadline(lookupMs, "The name server")
  try {
    await abortable(find(`${label}.${host}`), late)
    return { ok: true, msg: "" }
  } catch {
    const msg = `The name ${label}.${host} does not resolve: each run has a name below ${host}, so DNS needs the record *.${host}`
    return { ok: false, msg }
  }
}

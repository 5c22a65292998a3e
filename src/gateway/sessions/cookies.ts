/**
 * All of Quayside's own cookies, the base URL's among them, under any prefix that browsers know.
 */
const ours = /^(?:__(?:host|secure|http)-)*(?:http-)?quayside/i

/** A `Cookie` header without our own; undefined when nothing is left. */
export function stripOwnCookies(header: string): string | undefined {
  if (!/quayside/i.test(header)) return header
  const left = header.split(";").filter((pair) => !isOurs(pair))
  return left.length === 0 ? undefined : left.join(";").trim()
}

/**
 * Also a cookie without a name: browsers send its value alone, so that it looks like name and
 * value.
 */
function isOurs(pair: string): boolean {
  return ours.test(pair.replace(/^[\s=]+/, ""))
}

/**
 * A program's `Set-Cookie` as it may reach the client: for this host only, never under one of our
 * names. Undefined if it is not allowed. With `base` the cookie's path is restricted to that path;
 * other paths are put below it.
 */
export function confineCookie(setCookie: string, base?: string): string | undefined {
  const [pair = "", ...attributes] = setCookie.split(";")
  if (isOurs(pair)) return undefined
  const kept = attributes.filter((attribute) => !/^\s*domain\s*(?:=|$)/i.test(attribute))
  if (base === undefined) return [pair, ...kept].join(";")
  const path = kept.findLast((attribute) => /^\s*path\s*=/i.test(attribute))?.replace(/^[^=]*=\s*/, "")
  const rest = kept.filter((attribute) => !/^\s*path\s*(?:=|$)/i.test(attribute))
  return [pair, ...rest, ` Path=${pathBelow(base, path?.trim())}`].join(";")
}

function pathBelow(base: string, path: string | undefined): string {
  if (!path?.startsWith("/")) return `${base}/`
  return path === base || path.startsWith(`${base}/`) ? path : base + path
}

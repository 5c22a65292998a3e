import type { RunTarget } from "../run-directory.ts"

/** Paths with this prefix at a run's origin are the gateway's own and never reach the program. */
export const gatewayPrefix = "/.quayside/"

/** Whether a request target is the gateway's own at a run's origin. */
export function isGatewayPath(path: string): boolean {
  return path.startsWith("/.quayside") && /^\/\.quayside(?:[/?]|$)/.test(path)
}

const maxPathLength = 2_048

/**
 * A path with query that is safe in a redirect: browsers resolve it within this origin. Empty (the
 * landing page) for other origins, control characters, the gateway's own paths, and more than 2,048
 * characters.
 */
export function sanitizePath(path: string | null | undefined): string {
  if (!path?.startsWith("/") || path.length > maxPathLength) return ""
  const url = URL.parse(`http://run.invalid${path}`)
  if (url === null || url.host !== "run.invalid" || url.username !== "") return ""
  const pathname = url.pathname.replace(/^\/+/, "/")
  return isGatewayPath(pathname) || pathname + url.search === "/" ? "" : pathname + url.search
}

/** The program's base path, without a trailing slash. */
function baseOf(target: Pick<RunTarget, "id" | "prefix">): string {
  return target.prefix === "keep" ? `/run/${target.id}` : ""
}

/**
 * A path at the run's origin from one that is relative to the program's base; the landing page for
 * an empty one.
 */
export function toOriginPath(target: RunTarget, relative: string): string {
  const clean = sanitizePath(relative)
  return baseOf(target) + (clean === "" ? landingOf(target) : clean)
}

/** The reverse of `toOriginPath`: empty for a path outside the program's base. */
export function toProgramPath(target: RunTarget, path: string): string {
  const base = baseOf(target)
  return path.startsWith(`${base}/`) ? sanitizePath(path.slice(base.length)) : ""
}

function landingOf(target: RunTarget): string {
  return sanitizePath(`/${target.landing.replace(/^\/+/, "")}`) || "/"
}

/**
 * Whether this is the program's root, which sends visitors from other sites to the landing page.
 */
export function isProgramRoot(target: RunTarget, path: string): boolean {
  const base = baseOf(target)
  return path === "/" || path === base || path === `${base}/`
}

/**
 * Splits `/run/<ID>/rest?query`; `rest` starts with a slash, or is empty or a query when the slash
 * after the ID is missing.
 */
export function parseRunPath(url: string): { id: number; rest: string } | undefined {
  const match = /^\/run\/([1-9]\d{0,15})(?=[/?]|$)(.*)$/s.exec(url)
  const id = Number(match?.[1])
  return match && Number.isSafeInteger(id) ? { id, rest: match[2] ?? "" } : undefined
}

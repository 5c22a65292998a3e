import type { Target } from "./host.ts"

/** What begins so at a run's origin is the gateway's own and never reaches the program. */
export const ownPrefix = "/.quayside/"

/** Whether a request target is the gateway's own at a run's origin. */
export function isOwn(path: string): boolean {
  return path.startsWith("/.quayside") && /^\/\.quayside(?:[/?]|$)/.test(path)
}

const longest = 2_048

/**
 * A path with query that a redirect may carry: relative to this origin whatever a browser makes of
 * it. Empty (the landing page) for everything else: other origins, control characters, the
 * gateway's own paths, more than 2,048 characters.
 */
export function cleanPath(path: string | null | undefined): string {
  if (!path?.startsWith("/") || path.length > longest) return ""
  const url = URL.parse(`http://run.invalid${path}`)
  if (url === null || url.host !== "run.invalid" || url.username !== "") return ""
  const pathname = url.pathname.replace(/^\/+/, "/")
  return isOwn(pathname) || pathname + url.search === "/" ? "" : pathname + url.search
}

/** Where the program believes that it lives, without the slash at the end. */
function baseOf(target: Pick<Target, "id" | "prefix">): string {
  return target.prefix === "keep" ? `/run/${target.id}` : ""
}

/**
 * A path at the run's origin from one that is relative to the program's base; the landing page for
 * an empty one.
 */
export function pathAtOrigin(target: Target, relative: string): string {
  const clean = cleanPath(relative)
  return baseOf(target) + (clean === "" ? landingOf(target) : clean)
}

/** The reverse of `pathAtOrigin`: empty for what lies outside the program's base. */
export function pathInProgram(target: Target, path: string): string {
  const base = baseOf(target)
  return path.startsWith(`${base}/`) ? cleanPath(path.slice(base.length)) : ""
}

function landingOf(target: Target): string {
  return cleanPath(`/${target.landing.replace(/^\/+/, "")}`) || "/"
}

/**
 * Whether this is the program's front door, where people who come from elsewhere want the landing
 * page.
 */
export function isFrontDoor(target: Target, path: string): boolean {
  const base = baseOf(target)
  return path === "/" || path === base || path === `${base}/`
}

/**
 * Splits `/run/<ID>/rest?query`; `rest` starts with a slash, or is empty or a query when the slash
 * after the ID is missing.
 */
export function splitRunPath(url: string): { id: number; rest: string } | undefined {
  const match = /^\/run\/([1-9]\d{0,15})(?=[/?]|$)(.*)$/s.exec(url)
  const id = Number(match?.[1])
  return match && Number.isSafeInteger(id) ? { id, rest: match[2] ?? "" } : undefined
}

import { type Endpoint, endpoints, Failure, type OperationId, operationIds } from "#contract"
import { stripAdminPrefix } from "./http/request-context.ts"
import type { PageHandler } from "./pages/page.ts"
import { pageHandlers, pagePrefixes } from "./pages/pages.ts"

/** The operation or page that a request addresses. */
export type RouteTarget = { operation: OperationId } | { page: PageHandler; name: string }

/** Browsers resolve these before they ask. */
const dotSegment = /\/\.{1,2}(\/|$)/

/**
 * The routes of every row of the contract's table and of the pages, also below the alias. Paths
 * have no parameters, so a map finds the target; only the web UI has paths of its own below
 * `/ui/`. HEAD is routed as GET.
 */
export class Routes {
  /** By path, then by method. */
  readonly #paths = new Map<string, Map<string, RouteTarget>>()

  constructor() {
    for (const operation of operationIds) {
      const { method, path }: Endpoint = endpoints[operation]
      this.#add({ method, path, target: { operation } })
    }
    for (const [path, page] of Object.entries(pageHandlers)) this.#add({ method: "GET", path, target: { page, name: "page" } })
  }

  #add({ method, path, target }: { method: string; path: string; target: RouteTarget }): void {
    const methods = this.#paths.get(path) ?? new Map<string, RouteTarget>()
    this.#paths.set(path, methods)
    for (const each of method === "GET" ? ["GET", "HEAD"] : [method]) {
      if (methods.has(each)) throw new Error(`Two routes exist for ${each} ${path}`)
      methods.set(each, target)
    }
  }

  /** Whether the path is one of the table or of the pages, and not only below one of them. */
  has(path: string): boolean {
    return this.#paths.has(stripAdminPrefix(path))
  }

  find(method: string, path: string): RouteTarget | undefined {
    return this.#methodsOf(path)?.get(method)
  }

  #methodsOf(path: string): Map<string, RouteTarget> | undefined {
    const own = stripAdminPrefix(path)
    const exact = this.#paths.get(own)
    if (exact || dotSegment.test(own)) return exact
    return this.#paths.get(pagePrefixes.find((prefix) => own.startsWith(prefix)) ?? own)
  }

  /** The failure for a request without a target: an unknown path, or a wrong method. */
  refusal(method: string, path: string): Failure {
    const methods = this.#methodsOf(path)
    if (!methods) return new Failure("not_found", `There is no ${JSON.stringify(path.slice(0, 200))} here; /openapi.json lists all paths`)
    const allow = [...methods.keys()].join(", ")
    return new Failure("method_not_allowed", `The method for ${path} must be one of ${allow}; got ${method}`, { headers: { allow } })
  }
}

import type { FastifyInstance, FastifyRequest } from "fastify"
import { type Endpoint, endpoints, Failure, type Operation, operations } from "#contract"
import { withoutAlias } from "./http/visit.ts"
import type { Page } from "./page.ts"
import { pages } from "./pages.ts"

/** What a request is for. */
export type Target = { operation: Operation } | { page: Page; name: string }

declare module "fastify" {
  interface FastifyContextConfig {
    target?: Target
  }
}

/** Every row of the contract's table, and the pages, at their paths and below the alias, which the router never sees; HEAD goes with GET. */
export class Routes {
  readonly #allowed = new Map<string, string[]>()

  constructor(app: FastifyInstance) {
    for (const operation of operations) {
      const { method, path }: Endpoint = endpoints[operation]
      this.#add(app, { method, path, target: { operation } })
    }
    for (const [path, page] of Object.entries(pages)) this.#add(app, { method: "GET", path, target: { page, name: "page" } })
  }

  #add(app: FastifyInstance, route: { method: string; path: string; target: Target }): void {
    const methods = route.method === "GET" ? ["GET", "HEAD"] : [route.method]
    this.#allowed.set(route.path, [...(this.#allowed.get(route.path) ?? []), ...methods])
    app.route({ method: methods, url: route.path, config: { target: route.target }, handler: notReached })
  }

  /** What the router found, where it is what was asked for: but for the alias a path has one spelling. */
  accept({ url, config }: FastifyRequest["routeOptions"], path: string): Target | undefined {
    return url === withoutAlias(path) ? config.target : undefined
  }

  /** Why nothing is found: an unknown path, or a method that the path does not take. */
  refusal(method: string, path: string): Failure {
    const allow = this.#allowed.get(withoutAlias(path))?.join(", ")
    if (allow !== undefined) return new Failure("method_not_allowed", `${path} takes ${allow}; got ${method}`, { headers: { allow } })
    return new Failure("not_found", `There is no ${JSON.stringify(path.slice(0, 200))} here; /openapi.json lists what there is`)
  }
}

function notReached(): never {
  throw new Error("Requests are taken over before their handler")
}

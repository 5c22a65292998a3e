import { type Endpoint, endpoints, Failure, type Operation, operations } from "#contract"
import { type Page, pages } from "./pages.ts"

export type Target = { operation: Operation } | { page: Page; name: string }

interface Place {
  /** By method. */
  targets: Map<string, Target>
  allow: string
}

/** What stands at which path: all paths are fixed, so that a lookup finds them. */
export class Routes {
  readonly #places = new Map<string, Place>()

  constructor() {
    for (const operation of operations) {
      const { method, path }: Endpoint = endpoints[operation]
      for (const each of [path, `/admin${path}`]) this.#add(method, each, { operation })
    }
    for (const [path, page] of Object.entries(pages)) this.#add("GET", path, { page, name: "page" })
  }

  #add(method: string, path: string, target: Target): void {
    const place = this.#places.get(path) ?? { targets: new Map<string, Target>(), allow: "" }
    for (const each of method === "GET" ? ["GET", "HEAD"] : [method]) place.targets.set(each, target)
    place.allow = [...place.targets.keys()].join(", ")
    this.#places.set(path, place)
  }

  /** Throws a `Failure` that tells an unknown path from a wrong method. */
  find(method: string, path: string): Target {
    const place = this.#places.get(path)
    if (!place) throw new Failure("not_found", `There is no ${JSON.stringify(path.slice(0, 200))} here; /openapi.json lists what there is`)
    const target = place.targets.get(method)
    if (target) return target
    throw new Failure("method_not_allowed", `${path} takes ${place.allow}; got ${method}`, { headers: { allow: place.allow } })
  }
}

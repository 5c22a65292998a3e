import type { Caller } from "#access"
import type { PersonLimiter } from "#http"
import type { Store } from "#store"
import type { Services } from "./context.ts"

/** The same services, with a store that changes rows by this function. */
export function withChange(services: Services, change: Store["change"]): Services {
  // The store has private fields, so its other methods must run on the store itself.
  const store = new Proxy(services.store, {
    get(target, name) {
      if (name === "change") return change
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === "function" ? value.bind(target) : value
    },
  })
  return { ...services, store }
}

/** The function by which these services change rows, for code with a store of its own. */
export function changeOf({ store }: Services): Store["change"] {
  return (work, options) => store.change(work, options)
}

/**
 * The services for the changes of one person. All changes are made one after another, in the order
 * of their requests: a person with a thousand of them would stand before everybody else.
 */
export function withFairChanges(services: Services, caller: Caller, changes: PersonLimiter): Services {
  const { store } = services
  return withChange(services, (work, options) => changes.run(caller.userId, () => store.change(work, options)))
}

import type { Caller } from "#access"
import type { PersonLimiter } from "#http"
import type { Change, Store } from "#store"
import type { Services } from "./context.ts"
import type { Lane } from "./lane.ts"
import { refreshCaller } from "./refresh-caller.ts"

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

/**
 * The function by which these services change rows, for code with a store of its own. `check` is
 * part of each change, and throws if the caller may not make it any more.
 */
export function changeOf({ store }: Services, check?: (tx: Change) => Promise<void>): Store["change"] {
  if (check === undefined) return (work, options) => store.change(work, options)
  return (work, options) =>
    store.change(async (tx) => {
      await check(tx)
      return work(tx)
    }, options)
}

/**
 * Other processes' changes of rights, and the end of a credential by time, are noticed after this.
 */
const freshMs = 1_000

/** The changes of one person in a request. */
interface FairChanges {
  /** An object of the request alone. */
  caller: Caller
  lane: Lane
  /** `Identity.invalidations`, before the caller was read. */
  invalidations: number
  changes: PersonLimiter<Lane>
}

/**
 * The services for the changes of one person. All changes are made one after another, in the order
 * of their requests: a person with a thousand of them would stand before everybody else. They may
 * wait for half a minute, so each reads `caller` again in its turn if the person's rights may have
 * changed. Throws `unauthorized` if the credential has ended by then.
 */
export function withFairChanges(services: Services, { caller, lane, invalidations, changes }: FairChanges): Services {
  const { store, identity } = services
  let read = { invalidations, at: performance.now() }
  const renew = async () => {
    if (!identity.isInvalidatedSince(caller.userId, read.invalidations) && performance.now() - read.at < freshMs) return
    read = { invalidations: identity.invalidations(), at: performance.now() }
    Object.assign(caller, await refreshCaller({ services, caller }))
  }
  return withChange(services, (work, options) =>
    changes.run(lane, async () => {
      await renew()
      return store.change(work, options)
    }),
  )
}

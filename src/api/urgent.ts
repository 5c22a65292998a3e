import type { Caller } from "#access"
import type { OperationId } from "#contract"
import type { Store } from "#store"
import type { Services } from "./context.ts"

/**
 * What an administrator needs on a full disk beside deletions: disabling people, and changing
 * limits and members.
 */
const administrative: ReadonlySet<OperationId> = new Set(["updateUser", "updateGroup"])

/**
 * Whether an operation gets the room that the database keeps back for a full disk: whatever ends or
 * removes something, since it makes room or takes a right back, and what an administrator needs.
 * Nobody can use the room up with it: nothing is removed twice, and nothing is made meanwhile.
 */
export function isUrgent(operation: OperationId, { method, caller }: { method: string; caller: Caller | undefined }): boolean {
  return method === "DELETE" || (caller?.isAdmin === true && administrative.has(operation))
}

/** The same services with a store all of whose changes are urgent. */
export function urgentServices(services: Services): Services {
  const { store } = services
  const change: Store["change"] = (work, options) => store.change(work, { urgent: true, ...options })
  // The store's own fields are private: everything but `change` is asked of itself.
  const urgent = new Proxy(store, {
    get(target, name) {
      if (name === "change") return change
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === "function" ? value.bind(target) : value
    },
  })
  return { ...services, store: urgent }
}

import type { Caller } from "#access"
import type { OperationId } from "#contract"
import type { Services } from "./context.ts"
import { withChange } from "./with-change.ts"

/**
 * The operations beside deletions that an administrator needs on a full disk: disabling people, and
 * changing limits and members.
 */
const administrative: ReadonlySet<OperationId> = new Set(["updateUser", "updateGroup"])

/**
 * Whether an operation may use the reserve of a full disk. Deletions may, since they free space or
 * revoke a right; so may what an administrator needs. They cannot exhaust the reserve: nothing is
 * deleted twice, and nothing is created meanwhile.
 */
export function mayUseDiskReserve(operation: OperationId, { method, caller }: { method: string; caller: Caller | undefined }): boolean {
  return method === "DELETE" || (caller?.isAdmin === true && administrative.has(operation))
}

/** The same services, with a store whose changes may use the disk reserve. */
export function withDiskReserve(services: Services): Services {
  const { store } = services
  return withChange(services, (work, options) => store.change(work, { urgent: true, ...options }))
}

import type { Caller } from "#access"
import type { OperationId } from "#contract"

/** The requests of one lane are counted together and wait for each other. */
export type Lane = number | string

/**
 * The operations by which people find and end stolen credentials. A thief may use up all that the
 * person may ask for at a time or in a minute, so each credential has a lane of its own.
 */
const endCredentials: ReadonlySet<OperationId> = new Set<OperationId>([
  "createSession",
  "deleteSession",
  "deleteToken",
  "listSessions",
  "listTokens",
  "updateUser",
])

export function hasOwnLane(operation: OperationId): boolean {
  return endCredentials.has(operation)
}

/** The lane of an operation of this caller: that of the person, or of the credential. */
export function laneOf(operation: OperationId, { userId, credential }: Pick<Caller, "userId" | "credential">): Lane {
  return hasOwnLane(operation) ? `${userId} ${credential.id}` : userId
}

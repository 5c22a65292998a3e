import { Failure } from "#contract"
import type { Access, Identified, Refused } from "../access/authority.ts"
import type { Settings } from "../settings.ts"
import type { StorageQuota } from "../storage/storage.ts"
import type { CopyProgress, PlainRefusal, TreeCall } from "../tree/file-tree.ts"

/**
 * Descriptors that the worker is born with; standard input, output, error and the channel come
 * before.
 */
export const rootDescriptor = 4
export const firstSocket = 5

export interface Owner {
  uid: number
  gid: number
}

/** What main and worker say to each other. */
export type ToWorker =
  | { type: "start"; owner: Owner | undefined; settings: Settings; sockets: number }
  | { type: "stop" }
  | { type: "invalidate" }
  | { type: "ping"; id: number }
  | { type: "identified"; id: number; answer: Identified | null }
  /** Null: the authority failed. */
  | { type: "accesses"; id: number; answer: Access[] | null }
  | { type: "areasTold"; id: number; answer: string[] | null }
  /** In a list, since null is for a failure. */
  | { type: "storageTold"; id: number; answer: [StorageQuota | null] | null }
  | { type: "tree"; id: number; call: TreeCall }
  /** What is under way for that call ends as soon as it can, and is answered all the same. */
  | { type: "cancel"; id: number }

export type ToMain =
  /** `weaknesses`: the protections that this machine does not have. */
  | { type: "ready"; weaknesses: readonly string[] }
  | { type: "dying"; error: PlainError }
  | { type: "failure"; error: PlainError }
  | { type: "pong"; id: number }
  | { type: "identify"; id: number; authorization: string | undefined; address: string }
  | { type: "refused"; refusals: readonly Refused[] }
  | { type: "access"; id: number; userId: number; paths: readonly string[] }
  | { type: "areas"; id: number; paths: readonly string[] }
  | { type: "storage"; id: number; account: string }
  | { type: "treeProgress"; id: number; progress: CopyProgress }
  | { type: "treeDone"; id: number; outcome: TreeOutcome }

/** How a `TreeCall` ended. */
export type TreeOutcome = { answer: unknown } | { refusal: PlainRefusal } | { error: PlainError }

export function outcomeOf(error: unknown): TreeOutcome {
  return error instanceof Failure ? { refusal: { code: error.code, message: error.message } } : { error: plainError(error) }
}

/** An error that crosses the border between processes. */
export interface PlainError {
  message: string
  stack: string
  code: string | undefined
}

export function plainError(error: unknown): PlainError {
  if (!(error instanceof Error)) return { message: String(error), stack: "", code: undefined }
  return { message: error.message, stack: error.stack ?? "", code: (error as NodeJS.ErrnoException).code }
}

export function errorFrom({ message, stack, code }: PlainError): Error {
  return Object.assign(new Error(message), { stack: stack || message }, code === undefined ? {} : { code })
}

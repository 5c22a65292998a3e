import { Failure } from "#contract"
import type { IdentifyResult, PathAccess, RefusalSummary } from "../access/authority.ts"
import type { FileServerSettings } from "../settings.ts"
import type { StorageQuota } from "../storage/storage.ts"
import type { CopyProgress, SerializedRefusal, TreeOperation } from "../tree/file-tree.ts"

/**
 * Descriptors that the worker is born with; standard input, output, error and the channel come
 * before.
 */
export const rootDescriptor = 4
export const firstSocketDescriptor = 5

export interface FileOwner {
  uid: number
  gid: number
}

/** What main and worker say to each other. */
export type MessageToWorker =
  | { type: "start"; owner: FileOwner | undefined; settings: FileServerSettings; sockets: number }
  | { type: "stop" }
  | { type: "invalidate" }
  | { type: "ping"; id: number }
  | { type: "identifyReply"; id: number; answer: IdentifyResult | null }
  /** Null: the authority failed. */
  | { type: "accessReply"; id: number; answer: PathAccess[] | null }
  | { type: "areasReply"; id: number; answer: string[] | null }
  /** In a list, since null is for a failure. */
  | { type: "storageReply"; id: number; answer: [StorageQuota | null] | null }
  | { type: "tree"; id: number; operation: TreeOperation }
  /** What is under way for that call ends as soon as it can, and is answered all the same. */
  | { type: "cancel"; id: number }

export type MessageToMain =
  /** `weaknesses`: the protections that this machine does not have. */
  | { type: "ready"; weaknesses: readonly string[] }
  | { type: "dying"; error: SerializedError }
  | { type: "failure"; error: SerializedError }
  | { type: "pong"; id: number }
  | { type: "identify"; id: number; authorization: string | undefined; address: string }
  | { type: "refusals"; refusals: readonly RefusalSummary[] }
  | { type: "access"; id: number; userId: number; paths: readonly string[] }
  | { type: "areas"; id: number; paths: readonly string[] }
  | { type: "storage"; id: number; account: string }
  | { type: "treeProgress"; id: number; progress: CopyProgress }
  | { type: "treeReply"; id: number; outcome: TreeOutcome }

/** How a `TreeCall` ended. */
export type TreeOutcome = { answer: unknown } | { refusal: SerializedRefusal } | { error: SerializedError }

export function failedOutcome(error: unknown): TreeOutcome {
  return error instanceof Failure ? { refusal: { code: error.code, message: error.message } } : { error: serializeError(error) }
}

/** An error that crosses the border between processes. */
export interface SerializedError {
  message: string
  stack: string
  code: string | undefined
}

export function serializeError(error: unknown): SerializedError {
  if (!(error instanceof Error)) return { message: String(error), stack: "", code: undefined }
  return { message: error.message, stack: error.stack ?? "", code: (error as NodeJS.ErrnoException).code }
}

export function deserializeError({ message, stack, code }: SerializedError): Error {
  return Object.assign(new Error(message), { stack: stack || message }, code === undefined ? {} : { code })
}

import { Failure } from "#contract"
import type { IdentifyOptions, IdentifyResult, PathAccess, RefusalSummary } from "../access/authority.ts"
import type { FileServerSettings } from "../settings.ts"
import type { StorageQuota } from "../storage/storage.ts"
import type { CopyProgress, SerializedFailure, TreeOperation } from "../tree/file-tree.ts"

/** Descriptors that the worker inherits, after standard input, output, error and the channel. */
export const rootDescriptor = 4
export const firstSocketDescriptor = 5

export interface FileOwner {
  uid: number
  gid: number
}

/** Messages from the main process to the worker. */
export type MessageToWorker =
  | { type: "start"; owner: FileOwner | undefined; settings: FileServerSettings; sockets: number }
  | { type: "stop" }
  | { type: "invalidate" }
  /** No other process serves the files now. */
  | { type: "confirm" }
  | { type: "ping"; id: number }
  | { type: "identifyReply"; id: number; answer: IdentifyResult | null }
  /** Null: the authority failed. */
  | { type: "accessReply"; id: number; answer: PathAccess[] | null }
  | { type: "areasReply"; id: number; answer: string[] | null }
  /** In a list, since null is for a failure. */
  | { type: "storageReply"; id: number; answer: [StorageQuota | null] | null }
  | { type: "tree"; id: number; operation: TreeOperation }
  /** The operation stops at its next step, and its reply is still sent. */
  | { type: "cancel"; id: number }

export type MessageToMain =
  /** `weaknesses`: the protections that this machine does not have. */
  | { type: "ready"; weaknesses: readonly string[] }
  | { type: "dying"; error: SerializedError }
  | { type: "failure"; error: SerializedError }
  | { type: "pong"; id: number }
  | { type: "identify"; id: number; authorization: string | undefined; address: string; options: IdentifyOptions }
  | { type: "refusals"; refusals: readonly RefusalSummary[] }
  | { type: "access"; id: number; userId: number; paths: readonly string[] }
  | { type: "areas"; id: number; paths: readonly string[] }
  | { type: "storage"; id: number; account: string }
  | { type: "treeProgress"; id: number; progress: CopyProgress }
  | { type: "treeReply"; id: number; outcome: TreeOutcome }

/** How a `TreeOperation` ended. */
export type TreeOutcome = { answer: unknown } | { refusal: SerializedFailure } | { error: SerializedError }

export function failedOutcome(error: unknown): TreeOutcome {
  return error instanceof Failure ? { refusal: { code: error.code, message: error.message } } : { error: serializeError(error) }
}

/** An error in a form that can be sent to another process. */
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

import type { StorageQuota } from "../storage/storage.ts"

/**
 * Answers the file server's questions: which person a credential belongs to, and what that person
 * may do with a path. Values are plain, so that they can be sent to another process.
 */
export interface Authority {
  /** `authorization` is the header as it came; `address` the caller's, after trusted proxies. */
  identify(authorization: string | undefined, address: string, options?: IdentifyOptions): Promise<IdentifyResult>
  /**
   * For each path (absolute below the files root, normalized, no trailing slash except the root
   * itself), in the same order.
   */
  access(userId: number, paths: readonly string[]): Promise<PathAccess[]>
  /**
   * Returns, for each path in the same order, the directory through which runs mount it. Runs that
   * mount one of two paths with equal results can reach the other as well. Answers are not cached.
   */
  mountAreas(paths: readonly string[]): Promise<string[]>
  /**
   * Returns a person's storage quota, by user name; null when there is no such person. Answers are
   * not cached.
   */
  storageQuota(account: string): Promise<StorageQuota | null>
  /** Records refused requests for the audit. Must not throw. */
  recordRefusals(refusals: RefusalSummary): void
}

/** Equal refusals and their number; the address is the first one's. */
export interface RefusalSummary {
  /** Undefined when the caller was not authenticated. */
  userName: string | undefined
  address: string
  isWrite: boolean
  /** The failure's, or `hidden`: for this person the path does not exist. */
  code: string
  count: number
}

export interface IdentifyOptions {
  /**
   * The request has begun, with what these credentials were then: that is checked again, and no
   * header. So neither a files token's short life nor wrong passwords change the answer.
   */
  begunAs?: BegunAs
}

/** A person and the credential with which their request began. */
export interface BegunAs {
  userId: number
  credentialId: string
}

export type IdentifyResult =
  | ({ ok: true; userName: string; readOnly?: boolean } & BegunAs)
  /** `userName`: the credentials were right, but not allowed here. */
  | { ok: false; status: 401 | 403 | 429 | 503; msg: string; retryAfterSeconds?: number; userName?: string }

/**
 * `none`: for this person the path does not exist. `traverse`: a directory above something they may
 * see; it can be listed, and shows only such entries. `read`: this and all below it. `write`: the
 * same and changing it and all below it.
 */
export interface PathAccess {
  level: "none" | "traverse" | "read" | "write"
  /**
   * Whether the entry itself may be deleted, replaced or moved. Its parent must be writable, and it
   * must neither be nor contain the root of a home or a dataset.
   */
  canReplace: boolean
  /**
   * Set when everything below has this level too, and `canReplace` exactly where that is `write`:
   * no root of a home or a dataset lies below. It saves a question for every file; leaving it out
   * is always correct.
   */
  appliesBelow?: boolean
  /**
   * For a writable path: the person whose quota its content counts for; with `appliesBelow` also
   * for everything below. Absent: no person.
   */
  account?: string
  /**
   * For a writable path, with `appliesBelow` also for everything below: the person has it by
   * themselves, as its owner or an administrator, and not by somebody's grant.
   */
  isOwner?: true
}

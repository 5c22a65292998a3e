import type { StorageQuota } from "../storage/storage.ts"

/**
 * What the file server asks of the rest: who a proof belongs to, and what that person may do with a
 * path. Values are plain, so that they can cross a process border.
 */
export interface Authority {
  /** `authorization` is the header as it came; `address` the caller's, after trusted proxies. */
  identify(authorization: string | undefined, address: string): Promise<IdentifyResult>
  /**
   * For each path (absolute below the files root, normalized, no trailing slash except the root
   * itself), in the same order.
   */
  access(userId: number, paths: readonly string[]): Promise<PathAccess[]>
  /**
   * For each path, in the same order, the directory by which runs have it mounted: where two
   * answers are alike, whoever has one of the two in a run has the other as well. No answer is
   * kept.
   */
  mountAreas(paths: readonly string[]): Promise<string[]>
  /**
   * What a person may store, by user name, and what counts for it; null for who is not there. No
   * answer is kept.
   */
  storageQuota(account: string): Promise<StorageQuota | null>
  /** Requests were refused, for the audit. Must not throw. */
  recordRefusals(refusals: RefusalSummary): void
}

/** Refusals that are alike; the address is the first one's. */
export interface RefusalSummary {
  /** Undefined where nobody was proved. */
  userName: string | undefined
  address: string
  isWrite: boolean
  /** The failure's, or `hidden`: for this person the path does not exist. */
  code: string
  count: number
}

export type IdentifyResult =
  | { ok: true; userId: number; userName: string; readOnly?: boolean }
  /** `userName` where the proof was right and yet not good here. */
  | { ok: false; status: 401 | 403 | 429 | 503; msg: string; retryAfterSeconds?: number; userName?: string }

/**
 * `none`: for this person the path does not exist. `passage`: a directory above something they may
 * see; it can be listed, and shows only such entries. `read`: this and all below it. `write`: the
 * same and changing it and all below it.
 */
export interface PathAccess {
  level: "none" | "passage" | "read" | "write"
  /**
   * Whether the entry itself may be deleted, replaced or moved: its parent is writable too, it is
   * no root of a home or a dataset, and none lies below it.
   */
  canReplace: boolean
  /**
   * Set where everything below has this level too, and `own` exactly where that is `write`: no root
   * of a home or a dataset lies below. It spares a question for every file; absent is always right.
   */
  appliesBelow?: boolean
  /**
   * Of what may be written: the person for whom counts what is stored there; with `uniform` also
   * for everything below. Absent: nobody.
   */
  account?: string
}

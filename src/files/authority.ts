/** What the file server asks of the rest: who a proof belongs to, and what that person may do with a path. Values are plain, so that they can cross a process border. */
export interface Authority {
  /** `authorization` is the header as it came; `address` the caller's, after trusted proxies. */
  identify(authorization: string | undefined, address: string): Promise<Identified>
  /** For each path (absolute below the files root, normalized, no trailing slash except the root itself), in the same order. */
  access(userId: number, paths: readonly string[]): Promise<Access[]>
}

export type Identified =
  | { ok: true; userId: number; userName: string }
  | { ok: false; status: 401 | 403 | 429 | 503; msg: string; retryAfterSeconds?: number }

/**
 * `none`: for this person the path does not exist. `passage`: a directory above something they may see; it can be listed, and shows only such
 * entries. `read`: this and all below it. `write`: the same and changing it and all below it (the directory itself can be neither deleted nor moved where it is
 * the root of a home or a dataset: then `own` is false).
 */
export interface Access {
  level: "none" | "passage" | "read" | "write"
  /** Whether the entry itself may be deleted, replaced or moved (its parent is writable too, and it is no root of a home or a dataset). */
  own: boolean
}

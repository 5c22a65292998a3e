/*
 * Storage accounts, counts and quotas, as main process and worker exchange them. Plain values: they
 * cross between processes.
 */

/** An account's name and its directories: absolute paths below the root, normalized. */
export interface StorageAccount {
  /** The person's user name. */
  name: string
  userId: number
  /** Directories whose content counts. None lies in another, unless an excluded one is between. */
  roots: readonly string[]
  /** Directories below them that count for somebody else. */
  excluded: readonly string[]
  /** Directories below them, such as datasets in a home, whose content is an area of its own. */
  subAreas: readonly string[]
}

/** The result of a count. */
export interface StorageCount {
  bytes: number
  entries: number
  /** False when the time ran out: the real amount is at least this. */
  isComplete: boolean
  /** Bytes by directory: each root, sub-area and project of a home on its own. */
  areas: Readonly<Record<string, number>>
  /** Milliseconds that the count took. */
  tookMs: number
  /** Entries for which the limit of the account's project leaves no room. */
  refused: number
}

/** A person's quota. */
export interface StorageQuota {
  account: StorageAccount
  /** Bytes; null is unlimited. */
  maxBytes: number | null
  /** Limits for the members of a group together. */
  groups: readonly { groupName: string; maxBytes: number; members: readonly string[] }[]
  /**
   * The last count of the person and of the groups' members, by name. A person without a count is
   * missing.
   */
  counted: Readonly<Record<string, number>>
}

/** The space on the disk of the files root. */
export interface DiskSpace {
  freeBytes: number
  totalBytes: number
  /** The reserve. */
  reserveBytes: number
  /** Whether less than the reserve is free, in bytes or in files. */
  isLow: boolean
}

/** The limits of counting. The main process sets them from the contract. */
export interface StorageSettings {
  /** Undefined: by the size of the disk. */
  reserveBytes: number | undefined
  minReserveBytes: number
  reserveFraction: number
  minFreeInodes: number
  /**
   * The project of user 0, if the file system limits projects; see `ProjectQuotas`. Undefined: it
   * does not.
   */
  firstProject: number | undefined
  minEntryBytes: number
  maxHardLinks: number
  maxCountMs: number
  recountAfterMs: number
  maxRecountWaitMs: number
}

const mib = 2 ** 20

/** An amount for messages. */
export function formatBytes(bytes: number): string {
  if (bytes < mib) return `${Math.ceil(bytes / 1_024)} KiB`
  return `${Math.round((bytes / mib) * 10) / 10} MiB`
}

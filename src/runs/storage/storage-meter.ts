/*
 * The file server's figures of stored files. `openRuns` receives a `StorageMeter`, since this
 * folder does not access files.
 */

/** The directories whose files count for one person. */
export interface StorageAccount {
  /** The person's user name. */
  name: string
  userId: number
  /** Directories whose content counts, absolute below the files root. */
  roots: readonly string[]
  /** Directories below them that count for somebody else. */
  excluded: readonly string[]
  /** Directories below them, such as datasets in a home, whose content is an area of its own. */
  subAreas: readonly string[]
}

export interface StorageCount {
  bytes: number
  /** False if the count ran out of time, and there are at least so many bytes. */
  isComplete: boolean
  /** Bytes by directory: each root, sub-area and project of a home on its own. */
  areas: Readonly<Record<string, number>>
  tookMs: number
}

/** The storage limits of one person, and the counts to compare with them. */
export interface StorageQuota {
  account: StorageAccount
  /** Bytes; null is unlimited. */
  maxBytes: number | null
  /** Limits of groups on what their members store together. */
  groups: readonly { groupName: string; maxBytes: number; members: readonly string[] }[]
  /**
   * The last counts of the person and of the groups' members, by name. People without a count are
   * missing.
   */
  counted: Readonly<Record<string, number>>
}

export interface DiskSpace {
  freeBytes: number
  totalBytes: number
  /** Reserved: runs end before less is free. */
  reserveBytes: number
  /** Whether less than the reserve is free, of bytes or of files. */
  isLow: boolean
}

export interface StorageMeter {
  diskSpace(): Promise<DiskSpace>
  /** If `hasQuotas`, the kernel enforces `maxBytes` from the first count on. */
  count(account: StorageAccount, maxBytes: number | null): Promise<StorageCount>
  hasQuotas(): Promise<boolean>
}

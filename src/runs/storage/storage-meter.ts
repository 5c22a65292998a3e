/*
 * What this folder needs to know of people's files. The file server has it; it is given to
 * `createRuns`, since this folder knows no files.
 */

export interface StorageAccount {
  /** The person's user name. */
  name: string
  /** Directories whose content counts, absolute below the files root. */
  roots: readonly string[]
  /** Directories below them that count for somebody else. */
  excluded: readonly string[]
  /** Directories below them, such as datasets in a home, whose content is an area of its own. */
  subAreas: readonly string[]
}

export interface StorageCount {
  bytes: number
  /** False where the time was over first: it is at least so much. */
  isComplete: boolean
  /** Bytes by directory: each root, sub-area and project of a home on its own. */
  areas: Readonly<Record<string, number>>
  tookMs: number
}

/** What somebody may store. */
export interface StorageQuota {
  account: StorageAccount
  /** Bytes; null is unlimited. */
  maxBytes: number | null
  /** What members of groups may store together. */
  groups: readonly { groupName: string; maxBytes: number; members: readonly string[] }[]
  /**
   * The last count of the person and of the groups' members, by name. Who was never counted is
   * missing.
   */
  counted: Readonly<Record<string, number>>
}

export interface DiskSpace {
  freeBytes: number
  totalBytes: number
  /** What is kept free. */
  reserveBytes: number
  /** Less than that is free, of bytes or of files. */
  isLow: boolean
}

export interface StorageMeter {
  diskSpace(): Promise<DiskSpace>
  count(account: StorageAccount): Promise<StorageCount>
}

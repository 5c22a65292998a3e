/*
 * What people store, as main process and worker tell each other. Plain values: they cross the
 * border between processes.
 */

/** Whose files are counted, and where they lie: absolute paths below the root, normalized. */
export interface StorageAccount {
  /** The person's user name. */
  name: string
  /** Directories whose content counts. None lies in another, unless an excluded one is between. */
  roots: readonly string[]
  /** Directories below them that count for somebody else. */
  excluded: readonly string[]
  /** Directories below them, such as datasets in a home, whose content is an area of its own. */
  subAreas: readonly string[]
}

/** What a count found. */
export interface StorageCount {
  bytes: number
  entries: number
  /** False where the time was over first: it is at least so much. */
  isComplete: boolean
  /** Bytes by directory: each root, sub-area and project of a home on its own. */
  areas: Readonly<Record<string, number>>
  /** Milliseconds that the count took. */
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

/** The room on the disk of the files root. */
export interface DiskSpace {
  freeBytes: number
  totalBytes: number
  /** What is kept free. */
  reserveBytes: number
  /** Less than that is free, of bytes or of files. */
  isLow: boolean
}

/** The numbers by which the worker counts; the main process reads them from the contract. */
export interface StorageSettings {
  /** Undefined: by the size of the disk. */
  reserveBytes: number | undefined
  minReserveBytes: number
  reserveFraction: number
  minFreeInodes: number
  minEntryBytes: number
  maxHardLinks: number
  maxCountMs: number
  recountAfterMs: number
  maxRecountWaitMs: number
}

const mib = 2 ** 20

/** An amount as people read it. */
export function formatBytes(bytes: number): string {
  if (bytes < mib) return `${Math.ceil(bytes / 1_024)} KiB`
  return `${Math.round((bytes / mib) * 10) / 10} MiB`
}

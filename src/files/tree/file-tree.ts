import type { Failure } from "#contract"
import type { StorageAccount, StorageCount } from "../storage/storage.ts"
import type { CopyLimits, CopyTotals } from "./copy-totals.ts"

/**
 * What the main process asks to be done in the files root. Plain values: they go to another
 * process.
 */
export type TreeOperation =
  | { op: "exists"; path: string }
  | { op: "ensureDirectories"; paths: readonly string[] }
  | { op: "makeNewDirectory"; path: string }
  | { op: "removeEmptyDirectory"; path: string }
  | { op: "copyTree"; from: string; to: string; limits: CopyLimits; replace: boolean; maxMs: number; account?: string }
  | { op: "move"; from: string; to: string }
  | { op: "sever"; path: string }
  | { op: "removeTree"; path: string }
  | { op: "count"; account: StorageAccount }

/** How far a copy is; `total` is what was there when it began. */
export interface CopyProgress {
  done: CopyTotals
  total: CopyTotals
}

export interface TreeOperationOptions {
  /**
   * Aborted: the work ends at its next step and takes back what it began. It has ended when the
   * promise settles.
   */
  signal?: AbortSignal | undefined
  /** Called now and then. */
  onProgress?: ((progress: CopyProgress) => void) | undefined
}

export interface CopyTreeOptions extends CopyLimits, TreeOperationOptions {
  /** Default true. False: what stands there stays. */
  replace?: boolean
  /** How long it may take. Default: ten minutes. */
  maxMs?: number
  /**
   * The person for whom the copy counts; refused with `storage_full` where they may store no more.
   * Default: nobody.
   */
  account?: string
}

/** Has the work done; rejects with what `plainRefusal` made of the error, or any other. */
export type PerformTreeOperation = (operation: TreeOperation, options: TreeOperationOptions) => Promise<unknown>

const defaultCopyMs = 600_000

/**
 * The files root as the main process works on it: it asks, and the process that serves the files
 * does the work, with the rights of the runs and no others. Paths are absolute below the root and
 * normalized (`/users/ann/data`).
 *
 * New directories have mode 0755 and belong to the uid of the runs: all runs share it, and what
 * keeps people apart is that a container holds mounts of its own directories only. Refuses with
 * `Failure`: `conflict` where something else stands in the way, `forbidden` where that uid may not,
 * `storage_full`, and `unavailable` where the process that should do it ended again and again.
 */
export class FileTree {
  readonly perform: PerformTreeOperation

  constructor(perform: PerformTreeOperation) {
    this.perform = perform
  }

  /** Whether it is a directory now. */
  async exists(path: string): Promise<boolean> {
    return (await this.perform({ op: "exists", path }, {})) as boolean
  }

  /** Makes the directories and those above them, as far as they are missing. */
  async ensureDirectory(...paths: string[]): Promise<void> {
    await this.perform({ op: "ensureDirectories", paths }, {})
  }

  /**
   * Makes the directory, and those above it as far as they are missing; false when something of its
   * name is there already. Where the process that makes it dies just then, it may be there, empty,
   * and the answer false.
   */
  async makeNewDirectory(path: string): Promise<boolean> {
    return (await this.perform({ op: "makeNewDirectory", path }, {})) as boolean
  }

  /**
   * Takes a directory back that was made in vain; one that is not empty, or missing, stays as it
   * is.
   */
  async removeEmptyDirectory(path: string): Promise<void> {
    await this.perform({ op: "removeEmptyDirectory", path }, {})
  }

  /**
   * Copies a directory's tree to a place that does not exist, or replaces what is there, in one
   * step: nobody sees half of it, and whoever dies meanwhile leaves the old one or the new one.
   * Regular files and directories only. Resolves with nothing when something is there that is not
   * to be replaced. Refuses with `conflict` what is beyond the limits, and with `not_found` a
   * source that is no directory.
   */
  async copyTree(from: string, to: string, options: CopyTreeOptions = {}): Promise<CopyTotals | undefined> {
    const { replace = true, maxMs = defaultCopyMs, account, signal, onProgress, ...limits } = options
    const operation: TreeOperation = { op: "copyTree", from, to, limits, replace, maxMs, ...(account === undefined ? {} : { account }) }
    const copied = await this.perform(operation, { signal, onProgress })
    return (copied as CopyTotals | null) ?? undefined
  }

  /**
   * Moves a directory to a place that does not exist or is an empty directory, in one step; false
   * when there is none to move, which is so, too, when it was moved and the process died before it
   * said so. Refuses with `conflict` a place that holds something.
   */
  async move(from: string, to: string): Promise<boolean> {
    return (await this.perform({ op: "move", from, to }, {})) as boolean
  }

  /**
   * Gives each file below a directory that has another name, there or elsewhere, a copy of its own
   * in its place. A missing directory is no error. May be done again.
   */
  async breakHardLinks(path: string): Promise<void> {
    await this.perform({ op: "sever", path }, {})
  }

  /** Counts what a person stores, in a thread of the lowest priority. */
  async countStorage(account: StorageAccount): Promise<StorageCount> {
    return (await this.perform({ op: "count", account }, {})) as StorageCount
  }

  /**
   * Removes a directory with all below it; it is gone at once, the promise resolves when its space
   * is free. A missing one is no error.
   */
  async removeTree(path: string): Promise<void> {
    await this.perform({ op: "removeTree", path }, {})
  }
}

/** What is refused, as it crosses the border between processes. */
export interface SerializedRefusal {
  code: Failure["code"]
  message: string
}

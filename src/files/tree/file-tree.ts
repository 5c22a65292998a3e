import type { Failure } from "#contract"
import type { StorageAccount, StorageCount } from "../storage/storage.ts"
import type { CopyLimits, CopyTotals } from "./copy-totals.ts"

/**
 * An operation that the main process requests on the files root. Plain values: they go to another
 * process.
 */
export type TreeOperation =
  | { op: "exists"; path: string }
  | { op: "ensureDirectories"; paths: readonly string[] }
  | { op: "makeNewDirectory"; path: string }
  | { op: "removeEmptyDirectory"; path: string }
  | { op: "copyTree"; from: string; to: string; limits: CopyLimits; replace: boolean; maxMs: number; account?: string }
  | { op: "move"; from: string; to: string }
  | { op: "breakHardLinks"; path: string }
  | { op: "removeTree"; path: string }
  | { op: "count"; account: StorageAccount }

/** The progress of a copy; `total` is the size of the source when the copy began. */
export interface CopyProgress {
  done: CopyTotals
  total: CopyTotals
}

export interface TreeOperationOptions {
  /**
   * When aborted, the operation stops at its next step and undoes what it began. It has ended when
   * the promise settles.
   */
  signal?: AbortSignal | undefined
  /** Called at intervals. */
  onProgress?: ((progress: CopyProgress) => void) | undefined
}

export interface CopyTreeOptions extends CopyLimits, TreeOperationOptions {
  /** Whether an existing target is replaced. Default true. */
  replace?: boolean
  /** How long it may take. Default: ten minutes. */
  maxMs?: number
  /**
   * The person for whom the copy counts; refused with `storage_full` where they may store no more.
   * Default: nobody.
   */
  account?: string
}

/** Performs an operation in the process that serves the files. */
export type PerformTreeOperation = (operation: TreeOperation, options: TreeOperationOptions) => Promise<unknown>

const defaultCopyMs = 600_000

/**
 * The files root as the main process sees it. Every operation is performed by the process that
 * serves the files, with the rights of the runs and no others. Paths are absolute below the root
 * and normalized (`/users/ann/data`).
 *
 * New directories have mode 0755 and belong to the uid of the runs. All runs share that uid: a
 * container is confined by mounting only its own directories. Operations are refused with a
 * `Failure`. `conflict`: something else has the name. `forbidden`: that uid lacks the permission.
 * `storage_full`: no room. `unavailable`: the worker process ended repeatedly.
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

  /** Creates the directories and their missing parents. */
  async ensureDirectory(...paths: string[]): Promise<void> {
    await this.perform({ op: "ensureDirectories", paths }, {})
  }

  /**
   * Creates the directory and its missing parents; false when the name is taken. If the worker
   * process dies at that moment, an empty directory may exist although the result is false.
   */
  async makeNewDirectory(path: string): Promise<boolean> {
    return (await this.perform({ op: "makeNewDirectory", path }, {})) as boolean
  }

  /**
   * Removes a directory that was created in vain. One that is missing or not empty stays as it is.
   */
  async removeEmptyDirectory(path: string): Promise<void> {
    await this.perform({ op: "removeEmptyDirectory", path }, {})
  }

  /**
   * Copies a directory's tree to a new path, or replaces what is there, in one step. No reader sees
   * half of it, and a crash leaves the old tree or the new one. Only regular files and directories
   * are copied. Resolves with undefined when the target exists and must not be replaced. Refuses
   * with `conflict` a tree beyond the limits, and with `not_found` a source that is no directory.
   */
  async copyTree(from: string, to: string, options: CopyTreeOptions = {}): Promise<CopyTotals | undefined> {
    const { replace = true, maxMs = defaultCopyMs, account, signal, onProgress, ...limits } = options
    const operation: TreeOperation = { op: "copyTree", from, to, limits, replace, maxMs, ...(account === undefined ? {} : { account }) }
    const copied = await this.perform(operation, { signal, onProgress })
    return (copied as CopyTotals | null) ?? undefined
  }

  /**
   * Moves a directory to a path that does not exist or is an empty directory, in one step. False
   * when there is nothing to move; also when the process died after the move and before its reply.
   * Refuses with `conflict` a target that is not empty.
   */
  async move(from: string, to: string): Promise<boolean> {
    return (await this.perform({ op: "move", from, to }, {})) as boolean
  }

  /**
   * Replaces each file below a directory that has another hard link by a copy of its own. A missing
   * directory is no error. May be repeated.
   */
  async breakHardLinks(path: string): Promise<void> {
    await this.perform({ op: "breakHardLinks", path }, {})
  }

  /** Counts a person's storage, in a thread of the lowest priority. */
  async countStorage(account: StorageAccount): Promise<StorageCount> {
    return (await this.perform({ op: "count", account }, {})) as StorageCount
  }

  /**
   * Removes a directory and everything below it. It disappears at once; the promise resolves when
   * its space is free. A missing one is no error.
   */
  async removeTree(path: string): Promise<void> {
    await this.perform({ op: "removeTree", path }, {})
  }
}

/** A failure in a form that can be sent to another process. */
export interface SerializedFailure {
  code: Failure["code"]
  message: string
}

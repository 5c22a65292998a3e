import type { CopyProgress, TreeOperation } from "../tree/file-tree.ts"
import type { LocalFileTree } from "../tree/local-file-tree.ts"
import { failedOutcome, type TreeOutcome } from "./messages.ts"

const progressEveryMs = 100

export interface TreeJob {
  id: number
  operation: TreeOperation
  onProgress(progress: CopyProgress): void
}

/** Runs the main process's operations concurrently. Each has its own cancellation. */
export class TreeWorker {
  readonly #tree: LocalFileTree
  readonly #running = new Map<number, { controller: AbortController; done: Promise<TreeOutcome> }>()

  constructor(tree: LocalFileTree) {
    this.#tree = tree
  }

  /** Never rejects. */
  run({ id, operation, onProgress }: TreeJob): Promise<TreeOutcome> {
    const controller = new AbortController()
    const work = this.#tree.run(operation, { signal: controller.signal, onProgress: throttled(onProgress) })
    const done = work.then((answer) => ({ answer: answer ?? null }), failedOutcome).finally(() => this.#running.delete(id))
    this.#running.set(id, { controller, done })
    return done
  }

  cancel(id: number): void {
    this.#running.get(id)?.controller.abort(new Error("The operation was cancelled"))
  }

  /** Cancels all operations and resolves when they have ended. */
  async end(): Promise<void> {
    for (const id of this.#running.keys()) this.cancel(id)
    await Promise.all([...this.#running.values()].map(({ done }) => done))
  }
}

/** Always passes on the first and the last report. */
function throttled(report: (progress: CopyProgress) => void): (progress: CopyProgress) => void {
  let reportedAt = Number.NEGATIVE_INFINITY
  return (progress) => {
    const now = performance.now()
    const isLast = progress.done.entries === progress.total.entries
    if (now - reportedAt < progressEveryMs && !isLast) return
    reportedAt = now
    report(progress)
  }
}

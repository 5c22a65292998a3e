import type { CopyProgress, TreeCall } from "../tree/file-tree.ts"
import type { LocalTree } from "../tree/local-file-tree.ts"
import { outcomeOf, type TreeOutcome } from "./messages.ts"

const tellEveryMs = 100

export interface TreeWork {
  id: number
  call: TreeCall
  onProgress(progress: CopyProgress): void
}

/** Does the main process's calls beside one another, each with its own end. */
export class TreeDesk {
  readonly #tree: LocalTree
  readonly #running = new Map<number, { cut: AbortController; done: Promise<TreeOutcome> }>()

  constructor(tree: LocalTree) {
    this.#tree = tree
  }

  /** Never rejects. */
  do({ id, call, onProgress }: TreeWork): Promise<TreeOutcome> {
    const cut = new AbortController()
    const work = this.#tree.run(call, { signal: cut.signal, onProgress: sometimes(onProgress) })
    const done = work.then((answer) => ({ answer: answer ?? null }), outcomeOf).finally(() => this.#running.delete(id))
    this.#running.set(id, { cut, done })
    return done
  }

  cancel(id: number): void {
    this.#running.get(id)?.cut.abort(new Error("It is not wanted any more"))
  }

  /** Resolves when nothing is under way any more. */
  async end(): Promise<void> {
    for (const id of this.#running.keys()) this.cancel(id)
    await Promise.all([...this.#running.values()].map(({ done }) => done))
  }
}

/** The first and the last are always told. */
function sometimes(tell: (progress: CopyProgress) => void): (progress: CopyProgress) => void {
  let toldAt = Number.NEGATIVE_INFINITY
  return (progress) => {
    const now = performance.now()
    const isLast = progress.done.entries === progress.total.entries
    if (now - toldAt < tellEveryMs && !isLast) return
    toldAt = now
    tell(progress)
  }
}

import { spawn } from "node:child_process"
import { fstatSync, ftruncate, type Stats } from "node:fs"
import { promisify } from "node:util"
import { bytesOnDisk, type CopyCounter } from "./copy-totals.ts"

const pollMs = 50
const truncate = promisify(ftruncate)

/**
 * Copies a mostly empty sparse file with `cp`, which asks the kernel where data begins. Node
 * cannot, and reading a hole of a terabyte takes minutes. The program receives the two files as
 * descriptors and nothing else. Returns false, with an empty target, when there is no such program
 * or it fails here.
 */
export async function copySparseFile(counter: CopyCounter, file: { source: number; target: number; stats: Stats }): Promise<boolean> {
  const { source, target } = file
  const child = spawn("cp", ["--sparse=auto", "--", "/proc/self/fd/3", "/proc/self/fd/4"], {
    stdio: ["ignore", "ignore", "pipe", source, target],
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
    cwd: "/",
  })
  let stderr = ""
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk).slice(0, 1_000)
  })
  const ended = new Promise<number | null>((resolve) => child.once("error", () => resolve(null)).once("close", resolve))
  const watch = new CopyWatcher(counter, target, () => child.kill("SIGKILL"))
  const code = await ended
  watch.end()
  if (code === 0) return true
  if (/No space left|quota exceeded/i.test(stderr)) throw Object.assign(new Error("The copy does not fit on the disk"), { code: "ENOSPC" })
  watch.undo()
  await truncate(target, 0)
  return false
}

/** Counts the bytes that arrive, and kills the program beyond the limit or after an abort. */
class CopyWatcher {
  readonly #counter: CopyCounter
  readonly #target: number
  readonly #timer: NodeJS.Timeout
  readonly #kill: () => void
  #counted = 0
  #failure: unknown

  constructor(counter: CopyCounter, target: number, kill: () => void) {
    this.#counter = counter
    this.#target = target
    this.#kill = kill
    this.#timer = setInterval(() => this.#checkTarget(), pollMs)
    counter.options.signal?.addEventListener("abort", kill)
  }

  #checkTarget(): void {
    const taken = bytesOnDisk(fstatSync(this.#target))
    try {
      this.#counter.addBytes(taken - this.#counted)
      this.#counted = taken
      this.#counter.reportProgress()
    } catch (error) {
      this.#failure ??= error
      this.#kill()
    }
  }

  /** Throws the reason why the program was killed. */
  end(): void {
    clearInterval(this.#timer)
    this.#counter.options.signal?.removeEventListener("abort", this.#kill)
    if (this.#failure === undefined) this.#checkTarget()
    this.#counter.options.signal?.throwIfAborted()
    if (this.#failure !== undefined) throw this.#failure
  }

  undo(): void {
    this.#counter.addBytes(-this.#counted)
  }
}

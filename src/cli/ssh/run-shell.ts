import { randomBytes } from "node:crypto"
import { type ControlProcess, outputPart } from "#channel"

/** The answer of a script: what it printed, and its exit code. */
export interface ShellAnswer {
  status: number
  output: Buffer
}

const maxAnswerBytes = 8 * 2 ** 20
/** An exit code and the end of its line. */
const maxStatusLength = 4
const firstBufferBytes = 65_536

/**
 * A shell of the run that runs one script after the other, without a terminal. The end of each
 * answer is a mark that no file holds, because it is new for each shell.
 */
export class RunShell {
  readonly mark = `quayside-${randomBytes(16).toString("hex")}`
  readonly #program: Pick<ControlProcess, "output" | "write">
  readonly #waiting: PromiseWithResolvers<ShellAnswer>[] = []
  /** The answer so far is at the start; the buffer doubles when it is full. */
  #buffer = Buffer.alloc(firstBufferBytes)
  #length = 0
  #error: Error | undefined

  constructor(program: Pick<ControlProcess, "output" | "write">) {
    this.#program = program
    void this.#read().catch((error: Error) => this.#fail(error))
  }

  /** The command that a run must have. */
  static readonly command = ["sh"]

  run(script: string): Promise<ShellAnswer> {
    if (this.#error) return Promise.reject(this.#error)
    const answer = Promise.withResolvers<ShellAnswer>()
    this.#waiting.push(answer)
    const text = `( ${script}\n) </dev/null; printf '\\n%s %d\\n' ${this.mark} $?\n`
    this.#program.write(Buffer.from(text)).catch((error: Error) => this.#fail(error))
    return answer.promise
  }

  async #read(): Promise<void> {
    const end = Buffer.from(`\n${this.mark} `)
    for await (const { part, data } of this.#program.output) {
      if (part !== outputPart.stdout) continue
      // The mark may have come in pieces.
      const from = Math.max(0, this.#length - end.length - maxStatusLength)
      this.#append(data)
      this.#takeAnswers(end, from)
      if (this.#length > maxAnswerBytes) throw new Error(`The run answered more than ${maxAnswerBytes} bytes`)
    }
    throw new Error("The run's shell ended")
  }

  #append(data: Uint8Array): void {
    const length = this.#length + data.length
    if (length > this.#buffer.length) {
      const grown = Buffer.alloc(2 * length)
      this.#buffer.copy(grown, 0, 0, this.#length)
      this.#buffer = grown
    }
    this.#buffer.set(data, this.#length)
    this.#length = length
  }

  #takeAnswers(end: Buffer, from: number): void {
    const received = this.#buffer.subarray(0, this.#length)
    let start = 0
    for (let at = received.indexOf(end, from); at >= 0; at = received.indexOf(end, start)) {
      const lineEnd = received.indexOf("\n", at + end.length)
      if (lineEnd < 0) break
      const status = Number(received.subarray(at + end.length, lineEnd).toString())
      this.#waiting.shift()?.resolve({ status, output: Buffer.from(received.subarray(start, at)) })
      start = lineEnd + 1
    }
    if (start === 0) return
    received.copy(this.#buffer, 0, start)
    this.#length -= start
  }

  #fail(error: Error): void {
    this.#error ??= error
    for (const answer of this.#waiting.splice(0)) answer.reject(error)
  }
}

/** A word of a script that stands for itself. */
export function quoteForShell(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

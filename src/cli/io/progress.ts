import type { Cli } from "./cli.ts"
import { formatBytes } from "./formats.ts"
import { sanitize } from "./table.ts"

const redrawMs = 100
const barWidth = 24

/**
 * One line on standard error that says how far the work is. Only a terminal shows it; it disappears
 * at the end of its scope.
 */
export class ProgressLine implements Disposable {
  readonly #cli: Cli
  #drawnAt = 0
  #isDrawn = false

  constructor(cli: Cli) {
    this.#cli = cli
  }

  /** Shows a bar if the total is known. */
  bytes(text: string, done: number, total: number): void {
    const share = total > 0 ? Math.min(1, done / total) : 0
    const filled = Math.round(share * barWidth)
    const bar = `${"█".repeat(filled)}${"░".repeat(barWidth - filled)}`
    this.#draw(`${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${formatBytes(done)} of ${formatBytes(total)}  ${text}`)
  }

  /** Shows how much is done if the total is unknown. */
  amount(done: number): void {
    this.#draw(formatBytes(done))
  }

  text(text: string): void {
    this.#drawnAt = 0
    this.#draw(text)
  }

  #draw(line: string): void {
    const now = Date.now()
    if (!this.#cli.showsProgress || now - this.#drawnAt < redrawMs) return
    this.#drawnAt = now
    this.#isDrawn = true
    const columns = this.#cli.process.stderr.columns ?? 80
    this.#cli.process.stderr.write(`\r\u001b[K${sanitize(line).slice(0, columns - 1)}`)
  }

  [Symbol.dispose](): void {
    if (this.#isDrawn) this.#cli.process.stderr.write("\r\u001b[K")
  }
}

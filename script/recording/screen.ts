import xterm from "@xterm/headless"

/** Part of a line whose characters look the same. */
export interface Span {
  column: number
  text: string
  /** One of the terminal's 16 colours; undefined for the usual one. */
  color: number | undefined
  isBold: boolean
  isDim: boolean
}

/** The screen from one moment on. */
export interface Frame {
  atMs: number
  lines: Span[][]
}

const size = { columns: 84, rows: 24 }
const keyMs = 35
/** A pause of the program is shown for no longer than this. */
const maxPauseMs = 1_500
const promptText = "\x1b[1;32m$\x1b[0m "

/** A terminal's screen over time. Long pauses are shortened, and the time of typing is made up. */
export class Screen {
  readonly size = size
  readonly frames: Frame[] = []
  readonly #terminal = new xterm.Terminal({ cols: size.columns, rows: size.rows, allowProposedApi: true })
  #nowMs = 0
  #lastOutput = 0

  /** Shows the prompt and a command that somebody types. */
  async type(command: string): Promise<void> {
    await this.prompt()
    for (const letters of command.match(/..?/g) ?? []) await this.#write(letters, 2 * keyMs)
    await this.#write("\r\n", 300)
    this.#lastOutput = performance.now()
  }

  async prompt(): Promise<void> {
    await this.#write(promptText, 0)
    this.#nowMs += 900
  }

  /** Shows output that has just come. */
  async show(output: Buffer): Promise<void> {
    const now = performance.now()
    const pause = Math.min(now - this.#lastOutput, maxPauseMs)
    this.#lastOutput = now
    await this.#write(output, pause)
  }

  async #write(data: string | Buffer, afterMs: number): Promise<void> {
    this.#nowMs += afterMs
    await new Promise<void>((resolve) => this.#terminal.write(data, resolve))
    this.frames.push({ atMs: this.#nowMs, lines: this.#lines() })
  }

  #lines(): Span[][] {
    const { active } = this.#terminal.buffer
    return Array.from({ length: size.rows }, (_, row) => this.#spans(active.baseY + row))
  }

  #spans(row: number): Span[] {
    const line = this.#terminal.buffer.active.getLine(row)
    const spans: Span[] = []
    for (let column = 0; line && column < size.columns; column += 1) {
      const cell = line.getCell(column)
      const text = cell?.getChars() ?? ""
      if (!cell || text === "") continue
      const color = cell.isFgPalette() ? cell.getFgColor() : undefined
      const look = { color, isBold: cell.isBold() !== 0, isDim: cell.isDim() !== 0 }
      const last = spans.at(-1)
      const goesOn = last && last.column + last.text.length === column
      if (goesOn && last.color === look.color && last.isBold === look.isBold && last.isDim === look.isDim) last.text += text
      else if (text !== " ") spans.push({ column, text, ...look })
    }
    return spans
  }
}

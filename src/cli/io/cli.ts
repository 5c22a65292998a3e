import type { Readable, Writable } from "node:stream"
import { sanitizeLines, sanitizeOutput, toJson } from "./table.ts"

/** The parts of the process that a command may use. `main` fills them in. */
export interface CliProcess {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: Readable & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown }
  readonly stdout: TerminalStream
  readonly stderr: TerminalStream
  readonly platform: NodeJS.Platform
  readonly version: string
  /** The command that starts this program again. */
  readonly program: readonly string[]
  /** Aborts at the first Ctrl-C. */
  readonly signal: AbortSignal
}

export type TerminalStream = Writable & { isTTY?: boolean; columns?: number; rows?: number }

/** The options that every command has. */
export interface GlobalOptions {
  json?: boolean
  context?: string
}

/** One call of the command line: its process and the options that every command has. */
export class Cli {
  readonly process: CliProcess
  readonly options: GlobalOptions

  constructor(process: CliProcess, options: GlobalOptions) {
    this.process = process
    this.options = options
  }

  get isJson(): boolean {
    return this.options.json === true
  }

  /** Whether a person reads standard error: progress is drawn for nobody else. */
  get showsProgress(): boolean {
    return this.process.stderr.isTTY === true && !this.isJson
  }

  /** Whether somebody can answer a question. */
  get canAsk(): boolean {
    return this.process.stdin.isTTY === true && this.process.stderr.isTTY === true && !this.isJson
  }

  /** Writes lines of the command's result. A terminal gets their colours and no other command. */
  print(lines: string): void {
    const { stdout } = this.process
    const shown = stdout.isTTY === true ? lines.split("\n").map(sanitizeOutput).join("\n") : lines
    stdout.write(`${shown}\n`)
  }

  /** Writes a line for the person, beside the result. Programs that ask for JSON do not get it. */
  note(line: string): void {
    if (!this.isJson) this.process.stderr.write(`${sanitizeLines(line)}\n`)
  }

  /** Writes a value as JSON if that is asked for, otherwise the text. */
  show(value: unknown, text: () => string): void {
    this.print(this.isJson ? toJson(value, 2) : text())
  }

  /** Colours text for standard output if a terminal shows it. */
  colour(name: Colour, text: string): string {
    return hasColours(this.process, this.process.stdout) ? paint(name, text) : text
  }
}

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const
export type Colour = keyof typeof codes

/** https://no-color.org: any value but an empty one turns colours off. */
export function hasColours({ env }: CliProcess, stream: TerminalStream): boolean {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb"
}

export function paint(name: Colour, text: string): string {
  return `\u001b[${codes[name]}m${text}\u001b[0m`
}

import { type ControlProcess, type Multiplexer, openShell, StreamError } from "#channel"
import { texts } from "../../../text/index.ts"
import { Screen } from "./screen.ts"

/** Input before the shell is there is kept up to this size. From there on it is dropped. */
const maxWaitingBytes = 4_096

export type ShellState = { kind: "waiting" } | { kind: "open" } | { kind: "over"; text: string; canAttach: boolean }

/** A shell of the run with its screen. It attaches again after a connection was lost. */
export class ShellTerminal implements Disposable {
  readonly number: number
  readonly screen: Screen
  state: ShellState = { kind: "waiting" }
  session: string | undefined
  readonly #onChange: () => void
  #process: ControlProcess | undefined
  #waiting: Uint8Array[] = []
  #waitingBytes = 0

  constructor(number: number, { session, onChange, onLeave }: { session?: string; onChange: () => void; onLeave: () => void }) {
    this.number = number
    this.session = session
    this.#onChange = onChange
    this.screen = new Screen({
      onInput: (data) => this.#type(data),
      onResize: (size) => this.#process?.resize(size),
      onLeave,
    })
  }

  /** Opens the shell on a connection, or attaches to it, and shows its output until it ends. */
  async attach(connection: Multiplexer): Promise<void> {
    const isReturn = this.session !== undefined
    const shell = openShell(connection, { terminal: this.screen.size, ...(this.session ? { session: this.session } : {}) })
    this.#process = shell
    try {
      const { session } = await shell.started
      if (isReturn) this.screen.beginReplay()
      this.session = session
      // The size may have changed while the shell was opened.
      shell.resize(this.screen.size)
      for (const data of this.#takeWaiting()) this.#send(shell, data)
      this.#set({ kind: "open" })
      for await (const { data } of shell.output) await this.screen.write(data)
      const { exitCode } = await shell.exited
      this.session = undefined
      this.#set({ kind: "over", text: texts.run.terminal.exited(exitCode), canAttach: false })
    } catch (error) {
      this.#fail(error)
    } finally {
      if (this.#process === shell) this.#process = undefined
    }
  }

  /** Ends the shell and its programs. */
  end(): void {
    this.#process?.cancel()
    this[Symbol.dispose]()
  }

  [Symbol.dispose](): void {
    this.screen[Symbol.dispose]()
  }

  /** Input for a shell that is not there yet waits: a person types before the page is ready. */
  #type(data: Uint8Array): void {
    if (this.state.kind === "open" && this.#process) this.#send(this.#process, data)
    else if (this.state.kind === "waiting") {
      this.#waitingBytes += data.length
      if (this.#waitingBytes <= maxWaitingBytes) this.#waiting.push(data)
    }
  }

  #send(shell: ControlProcess, data: Uint8Array): void {
    void shell.write(data).catch(() => {})
  }

  #takeWaiting(): Uint8Array[] {
    const waiting = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    return waiting
  }

  #fail(error: unknown): void {
    const code = error instanceof StreamError ? error.code : "internal"
    const canAttach = code === "taken_over"
    if (code === "connection_lost") this.#set({ kind: "waiting" })
    else {
      if (!canAttach) this.session = undefined
      this.#set({ kind: "over", text: endText(code, error), canAttach })
    }
  }

  #set(state: ShellState): void {
    this.state = state
    if (state.kind === "over") this.#takeWaiting()
    this.#onChange()
  }
}

/** Why there is no terminal, in a sentence. */
function endText(code: string, error: unknown): string {
  const { refusals } = texts.run.terminal
  if (Object.hasOwn(refusals, code)) return refusals[code as keyof typeof refusals]
  return error instanceof Error ? error.message : String(error)
}

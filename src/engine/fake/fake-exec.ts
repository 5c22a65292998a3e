import { reasonMessages } from "#contract"
import { EngineError } from "../engine.ts"
import { type ExecOutput, type ExecProcess, type ExecRequest, loginShell, type TerminalSize } from "../exec.ts"
import type { StoredSpec } from "./fake-container.ts"
import type { FakeDaemon } from "./fake-daemon.ts"
import { type FakeCommandContext, fakeCommands, runLine, runShell } from "./fake-shell.ts"

const exitCodes: Record<string, number> = { SIGHUP: 129, SIGINT: 130, SIGKILL: 137, SIGTERM: 143 }

/**
 * Runs one of a few commands in this process: nothing on this machine is touched. `sh` is a shell
 * that reads a line after the other; see `fake-shell.ts` for its commands.
 */
export function startFakeExec(daemon: FakeDaemon, spec: StoredSpec, request: ExecRequest): ExecProcess {
  const [name = "", option, line = ""] = request.command
  const isShell = request.command.join(" ") === loginShell.join(" ") || (/^(\/bin\/)?(ba)?sh$/.test(name) && option !== "-c")
  const isLine = /^(\/bin\/)?(ba)?sh$/.test(name) && option === "-c" && !isShell
  if (!isShell && !isLine && !Object.hasOwn(fakeCommands, name))
    throw new EngineError("command_not_found", reasonMessages.command_not_found, { detail: `${name}: not found` })
  const program = (context: FakeCommandContext) => {
    if (isShell) return runShell(context)
    return isLine ? runLine(context, line) : (fakeCommands[name]?.(context, request.command.slice(1)) ?? 127)
  }
  return new FakeExec(daemon, spec, { request, program })
}

class FakeExec implements ExecProcess, FakeCommandContext {
  readonly env: Readonly<Record<string, string>>
  readonly workDir: string
  readonly hasTerminal: boolean
  size: TerminalSize
  readonly #exit = Promise.withResolvers<number>()
  readonly #output: ExecOutput[] = []
  readonly #input: Uint8Array[] = []
  readonly #ended = new AbortController()
  #interrupt = new AbortController()
  #wakeReader = () => {}
  #wakeWriter = () => {}
  #wakeInput = () => {}
  #inputEnded = false
  #isOver = false

  constructor(
    daemon: FakeDaemon,
    spec: StoredSpec,
    { request, program }: { request: ExecRequest; program: (context: FakeCommandContext) => number | Promise<number> },
  ) {
    const { terminal } = request
    this.#exit.promise.catch(() => {})
    this.env = { HOME: `/home/${spec.user}`, USER: spec.user, ...spec.env, ...request.env }
    this.workDir = request.workDir ?? spec.workDir ?? "/"
    this.hasTerminal = terminal !== undefined
    this.size = terminal ?? { columns: 80, rows: 24 }
    const onEnd = () => this.#end(137)
    daemon.events.once(`end:${spec.key}`, onEnd)
    this.#ended.signal.addEventListener("abort", () => daemon.events.off(`end:${spec.key}`, onEnd))
    setImmediate(async () => this.#end(await program(this)))
  }

  get exitCode(): Promise<number> {
    return this.#exit.promise
  }

  get signal(): AbortSignal {
    return AbortSignal.any([this.#ended.signal, this.#interrupt.signal])
  }

  readonly output: AsyncIterable<ExecOutput> = {
    [Symbol.asyncIterator]: () => this.#read(),
  }

  async *#read(): AsyncGenerator<ExecOutput> {
    for (;;) {
      const next = this.#output.shift()
      this.#wakeWriter()
      if (next) yield next
      else if (this.#isOver) return
      else await new Promise<void>((resolve) => (this.#wakeReader = resolve))
    }
  }

  /** Waits while nobody reads, as a program does on a full pipe. */
  async print(text: string | Uint8Array, stream: ExecOutput["stream"] = "stdout"): Promise<void> {
    if (this.#isOver) return
    const data = typeof text === "string" ? new TextEncoder().encode(this.hasTerminal ? text.replaceAll("\n", "\r\n") : text) : text
    this.#output.push({ stream: this.hasTerminal ? "stdout" : stream, data })
    this.#wakeReader()
    while (this.#output.length > 16 && !this.#isOver) await new Promise<void>((resolve) => (this.#wakeWriter = resolve))
  }

  async readInput(): Promise<Uint8Array | undefined> {
    const { signal } = this
    while (this.#input.length === 0 && !this.#inputEnded && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wakeInput = resolve
        signal.addEventListener("abort", () => resolve(), { once: true })
      })
    }
    return signal.aborted ? undefined : this.#input.shift()
  }

  async write(data: Uint8Array): Promise<void> {
    if (this.#isOver) return
    let rest = data
    if (this.hasTerminal && data.includes(3)) {
      await this.kill("SIGINT")
      rest = data.subarray(data.lastIndexOf(3) + 1)
    }
    if (rest.length > 0) this.#input.push(rest.slice())
    this.#wakeInput()
  }

  endInput(): void {
    this.#inputEnded = true
    this.#wakeInput()
  }

  async resize(size: TerminalSize): Promise<void> {
    this.size = size
  }

  /** The command that the shell runs is interrupted; without a terminal the program ends. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    if (!this.hasTerminal || signal !== "SIGINT") return void this.#end(exitCodes[signal] ?? 143)
    this.#interrupt.abort()
    this.#interrupt = new AbortController()
  }

  async close(): Promise<void> {
    this.#end(129)
  }

  #end(code: number): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#ended.abort()
    this.#exit.resolve(code)
    for (const wake of [this.#wakeReader, this.#wakeWriter, this.#wakeInput]) wake()
  }
}

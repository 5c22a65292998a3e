import { setTimeout as pause } from "node:timers/promises"
import { reasonMessages } from "#contract"
import type { Logger } from "#kit"
import { EngineError } from "../../engine.ts"
import type { ExecOutput, ExecProcess, ExecRequest, TerminalSize } from "../../exec.ts"
import type { ClusterClient } from "../client/cluster-client.ts"
import { ExecChannel } from "./exec-channel.ts"
import { signalCommand, startCommand } from "./exec-script.ts"
import { closeWith, prepend, readFirstLine } from "./read-first-line.ts"
import { readOutput } from "./read-output.ts"

/** How long processes may take to end after SIGHUP. */
const hangUpMs = 1_000
const pollMs = 100
const maxKills = 20
/** For the calls that signal processes: a count of them is short. */
const signalMs = 10_000
const maxSignalBytes = 1_000

export interface ExecContext {
  client: ClusterClient
  pod: string
  log: Logger
}

/**
 * Runs a program in a pod. Rejects with `command_not_found` if the image does not have it.
 *
 * The runtime ends no process when the connection to it is closed, and the cluster has no call that
 * does. So the image's shell starts the program and tells its session, and further calls of that
 * shell signal it. An image without a shell runs programs too, but then neither variables nor a
 * directory can be set, and a program that is closed goes on until it reads the end of its input.
 */
export async function startExec(context: ExecContext, request: ExecRequest): Promise<ExecProcess> {
  const { client, pod } = context
  const terminal = request.terminal !== undefined
  const channel = await ExecChannel.open(client, pod, { command: startCommand(request), terminal })
  const started = await readFirstLine(channel)
  if (started === "no shell") return startWithoutShell(context, request)
  const { line, output } = started
  if (line === "Qmissing") throw closeWith(channel, new EngineError("command_not_found", reasonMessages.command_not_found))
  if (line === "Qdirectory") throw closeWith(channel, new EngineError("engine_error", `The run has no directory ${request.workDir}`))
  const process = new PodExec({ ...context, channel, session: Number(line.slice(1)), output })
  if (request.terminal) await process.resize(request.terminal)
  return process
}

async function startWithoutShell(context: ExecContext, request: ExecRequest): Promise<ExecProcess> {
  const { client, pod } = context
  const { command, terminal, env = {}, workDir } = request
  if (Object.keys(env).length > 0 || workDir !== undefined)
    throw new EngineError("command_not_found", "The image has no shell, which alone could set variables or a directory for a program")
  const channel = await ExecChannel.open(client, pod, { command, terminal: terminal !== undefined })
  const output = channel.output()
  const first = await output.next()
  if (first.done) await channel.exitCode
  const process = new PodExec({ ...context, channel, session: undefined, output: prepend(first.done ? [] : [first.value], output) })
  if (terminal) await process.resize(terminal)
  return process
}

interface ExecParts extends ExecContext {
  channel: ExecChannel
  /** Undefined if the image has no shell. */
  session: number | undefined
  output: AsyncGenerator<ExecOutput>
}

class PodExec implements ExecProcess {
  readonly #parts: ExecParts
  readonly #exit = Promise.withResolvers<number>()
  readonly output: AsyncIterable<ExecOutput>
  #closing: Promise<void> | undefined

  constructor(parts: ExecParts) {
    this.#parts = parts
    this.#exit.promise.catch(() => {})
    this.output = this.#read()
  }

  get exitCode(): Promise<number> {
    return this.#exit.promise
  }

  write(data: Uint8Array): Promise<void> {
    return this.#parts.channel.write(data)
  }

  endInput(): void {
    this.#parts.channel.endInput()
  }

  resize(size: TerminalSize): Promise<void> {
    return this.#parts.channel.resize(size)
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    await this.#signal(signal, "foreground")
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    const { channel } = this.#parts
    const began = performance.now()
    let left = await this.#signal("SIGHUP", "all")
    if (left > 0) await this.#signal("SIGCONT", "all")
    while (left > 0 && performance.now() - began < hangUpMs) {
      await pause(pollMs)
      left = await this.#signal("0", "all")
    }
    for (let attempt = 0; left > 0 && attempt < maxKills; attempt += 1) {
      left = await this.#signal("SIGKILL", "all")
      if (left > 0) await pause(pollMs)
    }
    channel.close()
    this.#exit.reject(new EngineError("engine_error", "The program was ended"))
  }

  /** Resolves with the number of processes; 0 also if they cannot be reached. */
  async #signal(signal: string, to: "all" | "foreground"): Promise<number> {
    const { client, pod, session, log } = this.#parts
    if (session === undefined) return 0
    try {
      const channel = await ExecChannel.open(client, pod, { command: signalCommand(session, signal, to), terminal: false, input: false })
      const text = await readOutput(channel.output(), { maxBytes: maxSignalBytes, maxMs: signalMs, close: () => channel.close() })
      return Number(text.trim()) || 0
    } catch (err) {
      log.debug({ pod, err }, "a program's processes could not be signalled")
      return 0
    }
  }

  async *#read(): AsyncGenerator<ExecOutput> {
    const { channel, output } = this.#parts
    try {
      yield* output
      this.#exit.resolve(await channel.exitCode)
    } catch (error) {
      if (this.#closing) return
      this.#exit.reject(error)
      throw error
    } finally {
      void this.close()
    }
  }
}

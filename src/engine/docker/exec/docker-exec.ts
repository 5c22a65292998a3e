import { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { setTimeout as pause } from "node:timers/promises"
import type Dockerode from "dockerode"
import { reasonMessages } from "#contract"
import { type Logger, retry, writeThrough } from "#kit"
import { EngineError } from "../../engine.ts"
import type { ExecContinuation, ExecOutput, ExecProcess, ExecRequest, TerminalSize } from "../../exec.ts"
import type { DockerClient } from "../client/docker-client.ts"
import { separateOutputs, terminalOutput } from "./exec-output.ts"
import { type ExecSession, signalSession } from "./session-processes.ts"

/** How long the daemon may take until a program has its process ID. */
const startTimeoutMs = 15_000
/** How long processes may take to end after SIGHUP. */
const hangUpMs = 1_000
const pollMs = 20
const maxPollMs = 10_000

export interface ExecContext {
  client: DockerClient
  log: Logger
  container: Pick<Dockerode.ContainerInspectInfo, "Id" | "State">
}

/**
 * Runs a program in a container. Rejects with `command_not_found` if the image does not have it.
 *
 * The daemon ends no process when the connection to it is closed. So the program's session is known
 * by its process ID on the host, and its processes are ended from there.
 */
export async function startExec({ client, log, container }: ExecContext, request: ExecRequest): Promise<ExecProcess> {
  const { command, env = {}, workDir, terminal, user: owner } = request
  const options = {
    Cmd: [...command],
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    ...(workDir === undefined ? {} : { WorkingDir: workDir }),
    Tty: terminal !== undefined,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
  }
  const exec = await client.call((docker) => docker.getContainer(container.Id).exec(options), { kind: "create", owner })
  const start = { hijack: true, stdin: true, Tty: terminal !== undefined }
  const socket = await client.call(() => exec.start(start), { kind: "create", owner })
  socket.on("error", () => socket.destroy())
  const inspect = () => client.call((_docker, abort) => exec.inspect(abort), { owner })
  const started = await untilStarted(inspect).catch((error) => {
    socket.destroy()
    throw error
  })
  if (started.Pid === 0) throw await commandError(socket, terminal !== undefined)
  const session = { container: container.Id, init: container.State.Pid, leader: started.Pid }
  const process = new DockerExec({ client, log, exec, socket, session, owner }, terminal !== undefined)
  // The runtime may still be making the terminal.
  if (terminal) await retry(() => process.setSize(terminal), { maxAttempts: 6, firstWaitMs: 10 }).catch(() => {})
  return process
}

/** The program of a terminal, whose output has no frames that a death could cut. */
interface StoredProgram {
  /** The ID of the exec. */
  id: string
  session: ExecSession
  owner: string | undefined
}

/** Goes on with a program, on the connection that a dead process had to the daemon. */
export async function resumeExec(
  { client, log }: Pick<ExecContext, "client" | "log">,
  { socket, program }: ExecContinuation,
): Promise<ExecProcess | undefined> {
  const { id, session, owner } = program as StoredProgram
  socket.on("error", () => socket.destroy())
  const exec = await client.call(async (docker) => docker.getExec(id), { owner })
  const state = (await client.call((_docker, abort) => exec.inspect(abort), { owner }).catch(() => undefined)) as ExecState | undefined
  if (state?.Running && state.Pid === session.leader) return new DockerExec({ client, log, exec, socket, session, owner }, true)
  socket.destroy()
  return undefined
}

interface ExecState {
  Pid: number
  Running: boolean
  ExitCode: number | null
}

/** The daemon answers before the program runs. */
async function untilStarted(inspect: () => Promise<unknown>): Promise<ExecState> {
  const began = performance.now()
  for (let waitMs = 2; ; waitMs = Math.min(100, waitMs * 2)) {
    const state = (await inspect()) as ExecState
    if (state.Pid > 0 || state.ExitCode !== null) return state
    if (performance.now() - began > startTimeoutMs) throw new EngineError("engine_error", "The program did not start in time")
    await pause(waitMs)
  }
}

/** The daemon writes the reason to the program's output. */
async function commandError(socket: Duplex, hasTerminal: boolean): Promise<EngineError> {
  let detail = ""
  const output = hasTerminal ? terminalOutput(socket) : separateOutputs(socket)
  for await (const { data } of output) if (detail.length < 2_000) detail += Buffer.from(data).toString()
  return new EngineError("command_not_found", reasonMessages.command_not_found, { detail: detail.trim() })
}

interface ExecParts {
  client: DockerClient
  log: Logger
  exec: Dockerode.Exec
  socket: Duplex
  session: ExecSession
  owner: string | undefined
}

class DockerExec implements ExecProcess {
  readonly #parts: ExecParts
  readonly #exit = Promise.withResolvers<number>()
  readonly output: AsyncIterable<ExecOutput>
  readonly #hasTerminal: boolean
  #closing: Promise<void> | undefined

  constructor(parts: ExecParts, hasTerminal: boolean) {
    this.#parts = parts
    this.#hasTerminal = hasTerminal
    this.#exit.promise.catch(() => {})
    this.output = this.#read(hasTerminal ? terminalOutput(parts.socket) : separateOutputs(parts.socket))
  }

  get continuation(): ExecContinuation | undefined {
    const { exec, socket, session, owner } = this.#parts
    if (!this.#hasTerminal || !(socket instanceof Socket)) return undefined
    return { socket, program: { id: exec.id, session, owner } satisfies StoredProgram }
  }

  get exitCode(): Promise<number> {
    return this.#exit.promise
  }

  /**
   * The daemon passes it on. The pipe behind it is visible from here, but a program can hold the
   * lock of its pipe for seconds, in which each call on it waits.
   */
  async write(data: Uint8Array): Promise<void> {
    const { socket } = this.#parts
    if (socket.writable) await writeThrough(socket, data)
  }

  endInput(): void {
    this.#parts.socket.end()
  }

  async resize(size: TerminalSize): Promise<void> {
    // The program may have ended meanwhile.
    await this.setSize(size).catch(() => {})
  }

  async setSize({ columns, rows }: TerminalSize): Promise<void> {
    const { client, exec, owner } = this.#parts
    await client.call((_docker, abort) => exec.resize({ w: columns, h: rows, ...abort }), { owner })
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    await signalSession(this.#parts.session, signal, "foreground")
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    const { session, socket, log } = this.#parts
    const began = performance.now()
    let left = await signalSession(session, "SIGHUP")
    if (left) await signalSession(session, "SIGCONT")
    while (left && performance.now() - began < hangUpMs) {
      await pause(pollMs)
      left = await signalSession(session, 0)
    }
    for (let attempt = 0; left && attempt < 50; attempt += 1) {
      left = await signalSession(session, "SIGKILL")
      if (left) await pause(pollMs)
    }
    if (left === undefined) log.warn({ container: session.container }, "a program's processes are not visible and cannot be ended")
    socket.destroy()
    this.#exit.reject(new EngineError("engine_error", "The program was ended"))
  }

  /**
   * The output ends before the daemon knows the exit code, or before the program ends, which may be
   * hours later.
   */
  async #untilExited(): Promise<number> {
    const { client, exec, owner } = this.#parts
    for (let waitMs = 2; ; waitMs = Math.min(maxPollMs, waitMs * 2)) {
      const { Running, ExitCode } = (await client.call((_docker, abort) => exec.inspect(abort), { owner })) as ExecState
      if (!Running && ExitCode !== null) return ExitCode
      if (this.#closing) throw new EngineError("engine_error", "The program was ended")
      await pause(waitMs)
    }
  }

  async *#read(output: AsyncIterable<ExecOutput>): AsyncGenerator<ExecOutput> {
    try {
      yield* output
      this.#exit.resolve(await this.#untilExited())
    } catch (error) {
      if (this.#closing) return
      this.#exit.reject(error)
      throw error
    } finally {
      void this.close()
    }
  }
}

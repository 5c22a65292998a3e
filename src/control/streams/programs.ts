import { type ChannelStream, type JsonObject, outputPart, StreamError } from "#channel"
import { Failure } from "#contract"
import { EngineError, type ExecProcess, type ExecRequest } from "#engine"
import { waitForTurn } from "#http"
import type { ConnectionContext } from "../context.ts"
import { type ClientSignal, parseProgram, parseSignal, parseTerminal } from "../request-fields.ts"
import { pacedInput } from "./paced-input.ts"

/** Starts a program in the run. Throws a `StreamError` if it cannot. */
export async function startProgram({ engine, run, signal, caller }: ConnectionContext, request: ExecRequest): Promise<ExecProcess> {
  try {
    const process = await engine.exec(run.key, { ...request, user: caller.userName }, signal)
    if (process) return process
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    if (error.code !== "command_not_found") throw new StreamError("unavailable", error.message)
    throw new StreamError("command_not_found", `The run's image has no program ${JSON.stringify(request.command[0]?.slice(0, 200))}`)
  }
  throw new StreamError("unavailable", "The run's container does not run")
}

/**
 * Records in the audit that a person acts inside a run, at the rate that the API allows for writes.
 */
export async function auditProgram(context: ConnectionContext, verb: "shell" | "exec" | "copy" | "listen"): Promise<void> {
  const { store, events, actor, run, limits } = context
  const record = () => store.change((tx) => events.runRequested(tx, { actor, verb, run }))
  await withStreamErrors(() => limits.recordProgram(record))
}

/** A refusal of the API's limits ends the stream. */
export async function withStreamErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Failure && error.code === "too_many_requests") throw new StreamError(error.code, error.message)
    throw error
  }
}

/** Runs a program for as long as its stream lasts. */
export async function serveExec(context: ConnectionContext, stream: ChannelStream, request: JsonObject): Promise<void> {
  const program = parseProgram(request)
  await auditProgram(context, "exec")
  const process = await startProgram(context, program)
  try {
    stream.accept()
    if (stream.isOver) return
    stream.onMessage = (message) => handleProgramMessage(process, stream, message)
    stream.done.catch(() => process.close())
    void relayInput(context, process, stream)
    await relayOutput(context, process, stream)
    stream.finish({ exitCode: await process.exitCode })
  } finally {
    await process.close()
  }
}

/** Applies a message of the client: a new size, or a signal. */
export function handleProgramMessage(
  process: Pick<ExecProcess, "kill" | "resize">,
  stream: Pick<ChannelStream, "fail">,
  message: JsonObject,
): void {
  try {
    if (message.signal !== undefined) sendSignal(process, parseSignal(message.signal))
    const size = parseTerminal(message.resize)
    if (size) resize(process, size)
  } catch (error) {
    stream.fail("invalid", (error as Error).message)
  }
}

/** The signals that follow the one being sent; each waits once, as in the kernel. */
const nextSignals = new WeakMap<object, Set<ClientSignal>>()

/** One search for a program's processes at a time: there may be very many. */
function sendSignal(process: Pick<ExecProcess, "kill">, signal: ClientSignal): void {
  const pending = nextSignals.get(process)
  if (pending) return void pending.add(signal)
  const next = new Set<ClientSignal>()
  nextSignals.set(process, next)
  void process
    .kill(signal)
    .catch(() => {})
    .then(() => {
      nextSignals.delete(process)
      for (const each of next) sendSignal(process, each)
    })
}

/** The size that follows the one being set; later sizes replace it. */
const nextSizes = new WeakMap<object, { next: { columns: number; rows: number } | undefined }>()

/** A client that drags a window sends many sizes: only the last one matters. */
function resize(process: Pick<ExecProcess, "resize">, size: { columns: number; rows: number }): void {
  const pending = nextSizes.get(process)
  if (pending) {
    pending.next = size
    return
  }
  nextSizes.set(process, { next: undefined })
  void process
    .resize(size)
    .catch(() => {})
    .then(() => {
      const next = nextSizes.get(process)?.next
      nextSizes.delete(process)
      if (next) resize(process, next)
    })
}

/** Ends with the stream's input. */
export async function relayInput({ caller }: ConnectionContext, process: ExecProcess, stream: ChannelStream): Promise<void> {
  try {
    for await (const data of pacedInput(stream, caller.userId)) await process.write(data)
    process.endInput()
  } catch {
    // The stream failed, which ends the program.
  }
}

async function relayOutput({ caller }: ConnectionContext, process: ExecProcess, stream: ChannelStream): Promise<void> {
  for await (const { stream: name, data } of process.output) {
    await stream.write(data, outputPart[name])
    await waitForTurn(caller.userId, data, stream)
  }
}

import { type ChannelStream, type JsonObject, outputPart, StreamError } from "#channel"
import { Failure } from "#contract"
import { EngineError, type ExecProcess, type ExecRequest } from "#engine"
import type { ConnectionContext } from "../context.ts"
import { readProgram, readSignal, readTerminal } from "../request-fields.ts"

/** Starts a program in the run. Throws a `StreamError` if it cannot. */
export async function startProgram({ engine, run, signal }: ConnectionContext, request: ExecRequest): Promise<ExecProcess> {
  try {
    const process = await engine.exec(run.key, request, signal)
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
export async function audit(context: ConnectionContext, verb: "shell" | "exec" | "copy"): Promise<void> {
  const { store, events, actor, run } = context
  try {
    context.countProgram()
  } catch (error) {
    if (error instanceof Failure) throw new StreamError("too_many_requests", error.message)
    throw error
  }
  await store.change((tx) => events.runRequested(tx, { actor, verb, run }))
}

/** Runs a program for as long as its stream lasts. */
export async function serveExec(context: ConnectionContext, stream: ChannelStream, request: JsonObject): Promise<void> {
  const program = readProgram(request)
  await audit(context, "exec")
  const process = await startProgram(context, program)
  try {
    stream.accept()
    if (stream.isOver) return
    stream.onMessage = (message) => handleProgramMessage(process, stream, message)
    stream.done.catch(() => process.close())
    void copyInput(stream, process)
    await copyOutput(process, stream)
    stream.finish({ exitCode: await process.exitCode })
  } finally {
    await process.close()
  }
}

/** Applies a message of the client: a new size, or a signal. */
export function handleProgramMessage(process: ExecProcess, stream: ChannelStream, message: JsonObject): void {
  try {
    if (message.signal !== undefined) void process.kill(readSignal(message.signal)).catch(() => {})
    const size = readTerminal(message.resize)
    if (size) resize(process, size)
  } catch (error) {
    stream.fail("invalid", (error as Error).message)
  }
}

/** The size that follows the one being set; later sizes replace it. */
const nextSizes = new WeakMap<ExecProcess, { next: { columns: number; rows: number } | undefined }>()

/** A client that drags a window sends many sizes: only the last one matters. */
function resize(process: ExecProcess, size: { columns: number; rows: number }): void {
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
export async function copyInput(stream: ChannelStream, process: ExecProcess): Promise<void> {
  try {
    for await (const { data } of stream) await process.write(data)
    process.endInput()
  } catch {
    // The stream failed, which ends the program.
  }
}

export async function copyOutput(process: ExecProcess, stream: ChannelStream): Promise<void> {
  for await (const { stream: name, data } of process.output) await stream.write(data, outputPart[name])
}

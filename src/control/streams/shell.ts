import { type ChannelStream, type JsonObject, StreamError } from "#channel"
import { describeValue } from "#contract"
import { type ExecProcess, type ExecRequest, loginShell } from "#engine"
import { waitForTurn } from "#http"
import type { ConnectionContext } from "../context.ts"
import { invalidRequest, parseProgram } from "../request-fields.ts"
import type { ShellSession } from "../shells/shell-sessions.ts"
import { auditProgram, handleProgramMessage, relayInput, startProgram } from "./programs.ts"

const defaultSize = { columns: 80, rows: 24 }

/** Opens a shell, or attaches to one that lost its connection. */
export async function serveShell(context: ConnectionContext, stream: ChannelStream, request: JsonObject): Promise<void> {
  const { command: _, ...options } = request
  const program = parseProgram(options, loginShell)
  const isNew = request.session === undefined
  const session = isNew ? await open(context, program) : await find(context, request.session)
  stream.onMessage = (message) => handleProgramMessage(session.process, stream, message)
  // The client's first words may ask for the size.
  if (program.terminal) await session.process.resize(program.terminal)
  if (!isNew) await waitForTurn(context.caller.userId, session.scrollback, stream)
  if (stream.isOver && !isNew) return
  session.attach(stream)
  session.bindToRight(context.watchRight, context.caller.credential.id)
  await relayInput(context, session.process, stream)
  await stream.done.catch(() => {})
}

async function open(context: ConnectionContext, program: ExecRequest): Promise<ShellSession> {
  const { caller, run, shells, usage } = context
  const slot = usage.addShell()
  try {
    await auditProgram(context, "shell")
    const env = { TERM: "xterm-256color", ...program.env }
    const process = await startShell(context, { ...program, env, terminal: program.terminal ?? defaultSize })
    const owner = { userId: caller.userId, runId: run.id, runKey: run.key, credentialId: caller.credential.id }
    return shells.add(process, owner, () => slot[Symbol.dispose]())
  } catch (error) {
    slot[Symbol.dispose]()
    throw error
  }
}

async function startShell(context: ConnectionContext, program: ExecRequest): Promise<ExecProcess> {
  try {
    return await startProgram(context, program)
  } catch (error) {
    if (!(error instanceof StreamError) || error.code !== "command_not_found") throw error
    throw new StreamError("no_shell", "The run's image has no shell (/bin/sh): run its programs without one")
  }
}

async function find({ caller, run, shells, restored }: ConnectionContext, id: unknown): Promise<ShellSession> {
  if (typeof id !== "string") throw invalidRequest(`session must be the ID of a shell; got ${describeValue(id)}`)
  await restored
  const session = shells.find(id, { userId: caller.userId, runKey: run.key })
  if (session) return session
  throw new StreamError("not_found", "This shell has ended; open a new one")
}

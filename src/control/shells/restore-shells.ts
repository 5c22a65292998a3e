import { type Engine, EngineError } from "#engine"
import type { Logger } from "#kit"
import type { RightHolder } from "#projects"
import type { RunRow } from "#store"
import type { ControlUsageByPerson } from "../control-usage.ts"
import type { RecoveredShell, ShellRecovery } from "./shell-recovery.ts"
import type { ShellSessions } from "./shell-sessions.ts"

export interface RestoreContext {
  recovery: ShellRecovery
  shells: ShellSessions
  engine: Engine
  usages: ControlUsageByPerson
  logger: Logger
  /** Aborted with the given signal, or when the right or proof of the person ends. */
  watchRight(holder: RightHolder, run: Pick<RunRow, "id" | "key">, signal: AbortSignal): AbortSignal
}

/** Goes on with the shells of a process that died. They wait for their clients, as after a loss. */
export async function restoreShells(context: RestoreContext): Promise<void> {
  try {
    const found = await context.recovery.claim()
    await Promise.all(found.map((shell) => restore(context, shell)))
  } catch (err) {
    context.logger.error({ err }, "the shells of an earlier process could not be continued")
  }
}

async function restore({ shells, engine, usages, logger, watchRight }: RestoreContext, shell: RecoveredShell): Promise<void> {
  const { record, socket } = shell
  try {
    const process = await engine.resumeExec({ socket, program: record.program })
    if (!process) return
    const slot = usages.of(record.userId).addShell()
    const session = shells.restore(shell, process, () => slot[Symbol.dispose]())
    const { userId, credentialId, runId, runKey } = record
    const holder = { userId, credential: { id: credentialId } }
    session.bindToRight((signal) => watchRight(holder, { id: runId, key: runKey }, signal), credentialId)
  } catch (err) {
    socket.destroy()
    if (!(err instanceof EngineError)) throw err
    logger.warn({ err, run: record.runId }, "a shell could not be continued")
  }
}

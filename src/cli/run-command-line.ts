import { CommanderError } from "commander"
import type { CliProcess } from "./io/cli.ts"
import { describeError, exitCodes } from "./io/failures.ts"
import { sanitizeLines, toJson } from "./io/table.ts"
import { createProgram } from "./program/program.ts"

/** Runs one command and returns its exit code. Every error ends here. */
export async function runCommandLine(process: CliProcess, args: readonly string[]): Promise<number> {
  const state = { process, exitCode: 0 }
  const program = createProgram(state)
  try {
    if (args.length === 0) program.outputHelp()
    else await program.parseAsync([...args], { from: "user" })
    return state.exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage
    return report(process, error, args.includes("--json"))
  }
}

function report({ stderr, env }: CliProcess, error: unknown, isJson: boolean): number {
  const { exitCode, ...described } = describeError(error, env.QUAYSIDE_SERVER)
  if (isJson) stderr.write(`${toJson({ ok: false, ...described, exitCode })}\n`)
  else stderr.write(sanitizeLines(`quayside: ${described.msg}\n${described.hint === undefined ? "" : `${described.hint}\n`}`))
  return exitCode
}

import { type ControlProcess, type Multiplexer, openExec, outputPart } from "#channel"
import { CliError, type ExitCode, exitCodes } from "../io/failures.ts"

/** A small shell script that helps to copy. */
export interface RunScript {
  connection: Multiplexer
  /** Its `$0`, and what errors name: the file or folder in the run. */
  remote: string
  script: string
  /** Its arguments. */
  args?: readonly string[]
}

/** Begins a script that needs these programs. */
export function requirePrograms(...programs: string[]): string {
  return `for each in ${programs.join(" ")}; do
  command -v "$each" > /dev/null || { echo "the image has no $each" >&2; exit ${exitCodes.noCommand}; }
done`
}

const maxOutputCharacters = 4_096

/** The first output of a script. */
export async function runScript(script: RunScript): Promise<string> {
  let printed = ""
  await streamScript(script, (data) => {
    printed = `${printed}${Buffer.from(data)}`.slice(0, maxOutputCharacters)
  })
  return printed
}

/** Passes on all that a script prints. Throws what it complains about if it fails. */
export async function streamScript({ connection, remote, script, args = [] }: RunScript, read: (data: Uint8Array) => void | Promise<void>) {
  const program = openExec(connection, { command: ["sh", "-c", script, remote, ...args] })
  await program.started
  program.end()
  const errors = await readOutput(program, read)
  const { exitCode } = await program.exited
  if (exitCode === 0) return
  throw copyError(
    remote,
    errors.trim() || `exit code ${exitCode}`,
    exitCode === exitCodes.noCommand ? exitCodes.noCommand : exitCodes.failed,
  )
}

async function readOutput(program: ControlProcess, read: (data: Uint8Array) => void | Promise<void>): Promise<string> {
  let errors = ""
  for await (const { part, data } of program.output) {
    if (part === outputPart.stderr) errors = `${errors}${Buffer.from(data)}`.slice(0, maxOutputCharacters)
    else await read(data)
  }
  return errors
}

export function copyError(path: string, reason: string, exitCode: ExitCode = exitCodes.failed): CliError {
  return new CliError(`The copy of ${path} failed: ${reason}`, { exitCode, hint: "Copy it again." })
}

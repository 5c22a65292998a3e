import { once } from "node:events"
import type { ControlProcess, Multiplexer, ProcessOptions, StreamError, TerminalSize } from "#channel"
import type { Cli } from "../io/cli.ts"
import { usageError } from "../io/formats.ts"
import { findControlledRun, reconnect } from "../session/control.ts"

interface ExecOptions {
  interactive?: boolean
  tty?: boolean
  env?: string[]
  workdir?: string
}

/** Runs a program in a run. Its exit code is this program's. */
export async function exec(cli: Cli, name: string, command: string[], options: ExecOptions): Promise<number> {
  if (options.tty && cli.process.stdin.isTTY !== true) throw usageError("--tty needs a terminal.")
  const env = Object.fromEntries((options.env ?? []).map(parseVariable))
  const { openExec } = await import("#channel")
  const run = await findControlledRun(cli, name)
  using connection = disposable(await run.open())
  const program = openExec(connection.multiplexer, {
    command,
    env,
    ...(options.workdir === undefined ? {} : { workDir: options.workdir }),
    ...(options.tty ? { terminal: terminalSize(cli) } : {}),
  })
  await program.started
  using _terminal = options.tty ? passTerminal(cli, program) : undefined
  // The program gets the signal, and decides how it ends.
  cli.process.signal.addEventListener("abort", () => program.kill("SIGINT"))
  if (options.tty || !options.interactive) {
    if (!options.tty) program.end()
  } else void sendInput(cli, program)
  await printOutput(cli, program)
  return (await program.exited).exitCode
}

function parseVariable(text: string): [string, string] {
  const at = text.indexOf("=")
  if (at < 1) throw usageError(`--env must be KEY=VALUE; got ${JSON.stringify(text)}`)
  return [text.slice(0, at), text.slice(at + 1)]
}

/** Opens a shell. When the connection is lost, the shell goes on at the server, and comes back. */
export async function shell(cli: Cli, name: string, { workdir }: { workdir?: string }): Promise<number> {
  const { stdin, stdout, env } = cli.process
  if (stdin.isTTY !== true || stdout.isTTY !== true)
    throw usageError("A shell needs a terminal; `quayside exec RUN -- COMMAND` runs a command without one.")
  const run = await findControlledRun(cli, name)
  const options = { env: { TERM: env.TERM ?? "xterm-256color" }, ...(workdir === undefined ? {} : { workDir: workdir }) }
  let session: string | undefined
  let opening = run.open()
  for (;;) {
    try {
      return await attach(cli, await opening, { ...options, ...(session === undefined ? {} : { session }) }, (id) => (session = id))
    } catch (error) {
      if (session === undefined || (error as StreamError).code !== "connection_lost") throw error
      cli.note("\nThe connection was lost; connecting again …")
      opening = reconnect(cli, run)
    }
  }
}

async function attach(
  cli: Cli,
  multiplexer: Multiplexer,
  options: ProcessOptions,
  onSession: (id: string | undefined) => void,
): Promise<number> {
  const { openShell } = await import("#channel")
  using connection = disposable(multiplexer)
  const program = openShell(connection.multiplexer, { ...options, terminal: terminalSize(cli) })
  onSession((await program.started).session)
  using _terminal = passTerminal(cli, program)
  await printOutput(cli, program)
  return (await program.exited).exitCode
}

function terminalSize({ process }: Cli): TerminalSize {
  return { columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 }
}

/** Passes every key and each new size on, until the end of the scope. */
function passTerminal(cli: Cli, program: ControlProcess): Disposable {
  const { stdin, stdout } = cli.process
  const onData = (data: Buffer) => {
    stdin.pause()
    void program.write(data).then(
      () => stdin.resume(),
      () => {},
    )
  }
  const onResize = () => program.resize(terminalSize(cli))
  stdin.setRawMode?.(true)
  stdin.on("data", onData)
  stdin.resume()
  stdout.on("resize", onResize)
  return {
    [Symbol.dispose]: () => {
      stdin.off("data", onData)
      stdout.off("resize", onResize)
      stdin.setRawMode?.(false)
      stdin.pause()
    },
  }
}

async function sendInput(cli: Cli, program: ControlProcess): Promise<void> {
  try {
    for await (const chunk of cli.process.stdin) await program.write(chunk as Buffer)
    program.end()
  } catch {
    // The program ended first; its exit code tells how.
  }
}

async function printOutput(cli: Cli, program: ControlProcess): Promise<void> {
  const { stdout, stderr } = cli.process
  for await (const { part, data } of program.output) {
    const stream = part === 2 ? stderr : stdout
    if (!stream.write(data)) await once(stream, "drain")
  }
}

function disposable(multiplexer: Multiplexer) {
  return { multiplexer, [Symbol.dispose]: () => multiplexer.close(1000, "") }
}

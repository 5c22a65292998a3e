import { once } from "node:events"
import type { ServerChannel, Session, SFTPWrapper } from "ssh2"
import { type ControlProcess, type Multiplexer, openExec, openShell, outputPart, type ProcessOptions, type StreamError } from "#channel"
import { sanitize } from "../io/table.ts"
import { RunFiles } from "./run-files.ts"
import { RunShell } from "./run-shell.ts"
import { serveSftp } from "./sftp.ts"

/** As `sshd` does: the person's shell runs the line. */
const bareShell = `exec "\${SHELL:-$(command -v bash || echo sh)}"`
const runLine = `${bareShell} -c "$0"`
const maxVariables = 100

/** A session of ssh: a shell, a program or SFTP. */
export function serveSession(session: Session, connection: Multiplexer): void {
  const options: ProcessOptions & { env: Record<string, string> } = { env: {} }
  let program: ControlProcess | undefined
  const start = (channel: ServerChannel, opened: ControlProcess) => {
    program = opened
    void join(channel, opened)
  }
  session.on("pty", (accept, _reject, { cols, rows, term }) => {
    options.terminal = sizeOf(cols, rows)
    options.env.TERM = term || "xterm-256color"
    accept?.()
  })
  session.on("env", (accept, _reject, { key, val }) => {
    if (Object.keys(options.env).length < maxVariables) options.env[key] = val
    accept?.()
  })
  session.on("window-change", (accept, _reject, { cols, rows }) => {
    program?.resize(sizeOf(cols, rows))
    accept?.()
  })
  session.on("signal", (accept, _reject, { name }) => {
    program?.kill(`SIG${name.replace(/^SIG/, "")}`)
    accept?.()
  })
  session.on("shell", (accept) =>
    start(
      accept(),
      options.terminal ? openShell(connection, options) : openExec(connection, { ...options, command: ["sh", "-c", bareShell] }),
    ),
  )
  session.on("exec", (accept, _reject, { command }) =>
    start(accept(), openExec(connection, { ...options, command: ["sh", "-c", runLine, command] })),
  )
  session.on("sftp", (accept) => {
    const shell = openExec(connection, { command: RunShell.command })
    const sftp = accept()
    sftp.on("end", () => endSftp(sftp))
    sftp.on("close", () => shell.cancel())
    serveSftp(sftp, new RunFiles(new RunShell(shell)))
    shell.started.catch(() => sftp.end())
  })
}

/** `scp` fails without an exit status, which the library sends for programs only. */
function endSftp(sftp: SFTPWrapper): void {
  const { _protocol, outgoing } = sftp as unknown as {
    _protocol: { exitStatus(id: number, status: number): void }
    outgoing: { id: number }
  }
  _protocol.exitStatus(outgoing.id, 0)
  sftp.end()
}

function sizeOf(columns: number, rows: number) {
  return { columns: columns || 80, rows: rows || 24 }
}

/** Joins a channel of ssh and a program, until the program has ended. */
async function join(channel: ServerChannel, program: ControlProcess): Promise<void> {
  const closed = new Promise<void>((resolve) => channel.once("close", resolve))
  channel.on("error", () => {})
  void closed.then(() => program.cancel())
  try {
    await program.started
    void sendInput(channel, program)
    for await (const { part, data } of program.output) {
      const stream = part === outputPart.stderr ? channel.stderr : channel
      if (!stream.write(data)) await Promise.race([once(stream, "drain"), closed])
    }
    channel.exit((await program.exited).exitCode)
  } catch (error) {
    const { code, message } = error as StreamError
    channel.stderr.write(`quayside: ${sanitize(message)}\r\n`)
    channel.exit(code === "command_not_found" || code === "no_shell" ? 127 : 255)
  }
  channel.end()
}

async function sendInput(channel: ServerChannel, program: ControlProcess): Promise<void> {
  try {
    for await (const chunk of channel.iterator({ destroyOnReturn: false })) await program.write(chunk as Buffer)
    program.end()
  } catch {
    // The program ended first; its exit code tells how.
  }
}

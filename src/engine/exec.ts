import type { Socket } from "node:net"

/**
 * The command of an interactive shell: the person's own by `SHELL`, else the best that the image
 * has. It is no login shell (`-l`): `/etc/profile` would replace the image's `PATH`.
 */
export const loginShell: readonly string[] = [
  "/bin/sh",
  "-c",
  'for s in "$SHELL" /bin/bash /usr/bin/bash /bin/sh; do [ -n "$s" ] && [ -x "$s" ] && exec "$s" -i; done; exec sh -i',
]

export interface ExecRequest {
  command: readonly string[]
  /** Added to the run's environment. */
  env?: Readonly<Record<string, string>> | undefined
  /** Default: the container's. */
  workDir?: string | undefined
  /** The person who asks, whose share of the calls to the engine is limited. */
  user?: string | undefined
  /** Runs it on a terminal of this size, which merges both outputs into one. */
  terminal?: TerminalSize | undefined
}

/** In characters. */
export interface TerminalSize {
  columns: number
  rows: number
}

export interface ExecOutput {
  stream: "stdout" | "stderr"
  data: Uint8Array
}

/** A program that runs until it exits or is closed. */
export interface ExecProcess {
  /** Its output. Read once; as long as nobody reads, the program waits. */
  readonly output: AsyncIterable<ExecOutput>
  /** Resolves after the last output; rejects if the program was closed, or the engine is lost. */
  readonly exitCode: Promise<number>
  /** Resolves when more may be written. */
  write(data: Uint8Array): Promise<void>
  endInput(): void
  resize(size: TerminalSize): Promise<void>
  /** Absent if no other process can go on with the program. */
  readonly continuation?: ExecContinuation | undefined
  /** Signals its process group; with a terminal, the foreground one, as Ctrl-C does. */
  kill(signal: NodeJS.Signals): Promise<void>
  /**
   * Resolves when no process of its session is left, also after it exited by itself: hangs up, then
   * kills. Programs that began a session of their own, such as tmux, continue.
   */
  close(): Promise<void>
}

/** The means by which another process goes on with a program after this one died. */
export interface ExecContinuation {
  /** The connection to the engine, which must stay open. */
  socket: Socket
  /** Stored as JSON; `Engine.resumeExec` understands it. */
  program: unknown
}

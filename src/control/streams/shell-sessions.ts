import { randomBytes } from "node:crypto"
import { type ChannelStream, outputPart } from "#channel"
import { bounds } from "#contract"
import type { ExecProcess } from "#engine"
import { Scrollback } from "./scrollback.ts"
import { waitForTurn } from "./wait-for-turn.ts"

const lost = "connection_lost"
const { detachedMs, scrollBackBytes } = bounds.control

export interface ShellOwner {
  userId: number
  /** The run's key. */
  runKey: string
}

/** Shells, attached to a stream or waiting for their client to come back. */
export class ShellSessions {
  readonly #sessions = new Map<string, ShellSession>()

  /** Takes over a running shell. `onEnd` is called when it is over. */
  add(process: ExecProcess, owner: ShellOwner, onEnd: () => void): ShellSession {
    const session = new ShellSession(process, owner, () => {
      this.#sessions.delete(session.id)
      onEnd()
    })
    this.#sessions.set(session.id, session)
    return session
  }

  /** A person's own shell in a run. */
  find(id: string, { userId, runKey }: ShellOwner): ShellSession | undefined {
    const session = this.#sessions.get(id)
    return session?.owner.userId === userId && session.owner.runKey === runKey && !session.isEnding ? session : undefined
  }

  /** Ends all shells. */
  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session.end()))
  }
}

/** One shell with its scrollback, which outlives connections. */
export class ShellSession {
  readonly id = randomBytes(16).toString("hex")
  readonly process: ExecProcess
  readonly owner: ShellOwner
  readonly scrollback = new Scrollback(scrollBackBytes.value)
  readonly #onEnd: () => void
  #stream: ChannelStream | undefined
  #timer: NodeJS.Timeout | undefined
  #watch = new AbortController()
  #hasEnded = false

  constructor(process: ExecProcess, owner: ShellOwner, onEnd: () => void) {
    this.process = process
    this.owner = owner
    this.#onEnd = onEnd
    void this.#pump()
  }

  /** Whether its client has given it up. */
  get isEnding(): boolean {
    const error = this.#stream?.error
    return error !== undefined && error.code !== lost
  }

  /** Shows the shell on a stream, with its latest output first. Another stream of it ends. */
  attach(stream: ChannelStream): void {
    clearTimeout(this.#timer)
    this.#stream?.fail("taken_over", "Another connection attached to this shell")
    this.#stream = stream
    stream.accept({ session: this.id })
    const before = this.scrollback.bytes()
    if (before.length > 0) void stream.write(before, outputPart.stdout).catch(() => {})
    stream.done.catch((error: { code: string }) => this.#onStreamError(stream, error.code))
  }

  /** Ends with the right of the client that attached last, also while it waits without one. */
  endWith(watchRight: (signal: AbortSignal) => AbortSignal): void {
    this.#watch.abort()
    if (this.#hasEnded) return
    const watch = new AbortController()
    this.#watch = watch
    watchRight(watch.signal).addEventListener("abort", () => {
      if (!watch.signal.aborted) void this.end()
    })
  }

  /** Ends the shell and its processes. */
  async end(): Promise<void> {
    this.#hasEnded = true
    this.#watch.abort()
    clearTimeout(this.#timer)
    await this.process.close()
  }

  /** A lost connection leaves the shell for a while; any other end of the stream ends it. */
  #onStreamError(stream: ChannelStream, code: string): void {
    if (this.#stream !== stream) return
    if (code !== lost) return void this.end()
    this.#stream = undefined
    this.#timer = setTimeout(() => void this.end(), detachedMs.value).unref()
  }

  async #pump(): Promise<void> {
    try {
      for await (const { data } of this.process.output) {
        this.scrollback.add(data)
        // A client that does not read makes the shell wait. Without one, the shell goes on.
        await this.#stream?.write(data, outputPart.stdout).catch(() => {})
        await waitForTurn(this.owner.userId, data, this)
      }
      this.#stream?.finish({ exitCode: await this.process.exitCode })
    } catch {
      this.#stream?.fail("unavailable", "The connection to the shell was lost")
    } finally {
      await this.end()
      this.#onEnd()
    }
  }
}

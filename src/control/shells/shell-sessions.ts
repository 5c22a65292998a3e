import { randomBytes } from "node:crypto"
import { type ChannelStream, outputPart } from "#channel"
import { bounds } from "#contract"
import type { ExecProcess } from "#engine"
import { waitForTurn } from "#http"
import { Scrollback } from "./scrollback.ts"
import type { RecoveredShell, ShellRecovery } from "./shell-recovery.ts"

const lost = "connection_lost"
const { detachedMs, scrollBackBytes } = bounds.control

/** How often the last output is stored, at most. */
const storeMs = 250

export interface ShellOwner {
  userId: number
  runId: number
  /** The run's key. */
  runKey: string
  /** The proof of the client that attached last. */
  credentialId: string
}

/** Shells, attached to a stream or waiting for their client to come back. */
export class ShellSessions {
  readonly #sessions = new Map<string, ShellSession>()
  readonly #recovery: ShellRecovery | undefined

  /** Without `recovery`, no shell survives this process. */
  constructor(recovery?: ShellRecovery) {
    this.#recovery = recovery
  }

  /** Takes over a running shell. `onEnd` is called when it is over. */
  add(process: ExecProcess, owner: ShellOwner, onEnd: () => void): ShellSession {
    return this.#add({ id: randomBytes(16).toString("hex"), process, owner, recovery: this.#recovery }, onEnd)
  }

  /** Takes over the shell of a process that died, which waits for its client. */
  restore({ record, scrollback }: RecoveredShell, process: ExecProcess, onEnd: () => void): ShellSession {
    const { id, program: _, ...owner } = record
    const session = this.#add({ id, process, owner, recovery: this.#recovery }, onEnd)
    session.scrollback.add(scrollback)
    session.endUnlessAttached()
    return session
  }

  #add(options: ShellOptions, onEnd: () => void): ShellSession {
    const session = new ShellSession(options, () => {
      this.#sessions.delete(options.id)
      onEnd()
    })
    this.#sessions.set(options.id, session)
    return session
  }

  /** A person's own shell in a run. */
  find(id: string, { userId, runKey }: Pick<ShellOwner, "userId" | "runKey">): ShellSession | undefined {
    const session = this.#sessions.get(id)
    return session?.owner.userId === userId && session.owner.runKey === runKey && !session.isEnding ? session : undefined
  }

  /** Ends all shells. */
  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session.end()))
  }
}

interface ShellOptions {
  id: string
  process: ExecProcess
  owner: ShellOwner
  recovery: ShellRecovery | undefined
}

/** One shell with its scrollback, which outlives connections. */
export class ShellSession {
  readonly id: string
  readonly process: ExecProcess
  owner: ShellOwner
  readonly #recovery: ShellRecovery | undefined
  readonly scrollback = new Scrollback(scrollBackBytes.value)
  readonly #onEnd: () => void
  #stream: ChannelStream | undefined
  #timer: NodeJS.Timeout | undefined
  #watch = new AbortController()
  #hasEnded = false
  #isStored = true

  constructor({ id, process, owner, recovery }: ShellOptions, onEnd: () => void) {
    this.id = id
    this.process = process
    this.owner = owner
    this.#recovery = recovery
    this.#onEnd = onEnd
    if (process.continuation) void recovery?.register(this.#record(), process.continuation)
    void this.#pump()
  }

  #record() {
    return { id: this.id, ...this.owner, program: this.process.continuation?.program }
  }

  /** Whether it ends, or its client has given it up. */
  get isEnding(): boolean {
    const error = this.#stream?.error
    return this.#hasEnded || (error !== undefined && error.code !== lost)
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
  bindToRight(watchRight: (signal: AbortSignal) => AbortSignal, credentialId: string): void {
    this.#watch.abort()
    if (credentialId !== this.owner.credentialId) {
      this.owner = { ...this.owner, credentialId }
      void this.#recovery?.update(this.#record())
    }
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
    await Promise.all([this.process.close(), this.#recovery?.forget(this.id)])
  }

  /** Ends after a while if no client attaches. */
  endUnlessAttached(): void {
    this.#timer = setTimeout(() => void this.end(), detachedMs.value).unref()
  }

  /** A lost connection leaves the shell for a while; any other end of the stream ends it. */
  #onStreamError(stream: ChannelStream, code: string): void {
    if (this.#stream !== stream) return
    if (code !== lost) return void this.end()
    this.#stream = undefined
    this.endUnlessAttached()
  }

  #storeSoon(): void {
    if (!this.#isStored || !this.#recovery) return
    this.#isStored = false
    setTimeout(() => {
      this.#isStored = true
      void this.#recovery?.storeScrollback(this.id, this.scrollback.bytes())
    }, storeMs).unref()
  }

  async #pump(): Promise<void> {
    try {
      for await (const { data } of this.process.output) {
        this.scrollback.add(data)
        this.#storeSoon()
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

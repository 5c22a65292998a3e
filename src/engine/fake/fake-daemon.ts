import { EventEmitter } from "node:events"
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Clock, systemClock } from "#kit"
import type { ContainerLogLine, RunSpec } from "../engine.ts"
import { behaviourOf } from "./behaviour.ts"
import type { FakeContainer, StoredSpec } from "./fake-container.ts"
import { type FakeProgram, startFakeProgram } from "./fake-program.ts"

const maxLogLines = 1_000

export interface FakeDaemonOptions {
  stateDir?: string
  /** Default: the system's. */
  clock?: Clock
  /** Default: a server on a loopback port. */
  startProgram?: typeof startFakeProgram
}

/**
 * The fake daemon: containers and pulled images. Like a Docker daemon it outlives the `Engine`
 * objects that use it, so a test can end a server and start another one on the same daemon.
 */
export class FakeDaemon implements AsyncDisposable {
  #reachable = true
  /** The result of `freeDisk` of the engines on this daemon. */
  freeDisk: number | null = null
  /** The faults of simulated devices, by ID. */
  readonly gpuFaults = new Map<string, string>()
  readonly containers = new Map<string, FakeContainer>()
  /** The digests of local images by the reference under which each was fetched last. */
  readonly images = new Map<string, string>()
  /** The digests of local images, also of those that no name leads to. None was built here. */
  readonly storedImages = new Set<string>()
  /** How often the tag of an image moved in the registry, which keeps every version. */
  readonly movedTags = new Map<string, number>()
  /**
   * Emits `changed` after every change, `log:<key>` with each `ContainerLogLine`, and `end:<key>`
   * when a program ends.
   */
  readonly events = new EventEmitter().setMaxListeners(0)
  readonly clock: Clock
  readonly #programs = new Map<string, FakeProgram>()
  readonly #stopped = new AbortController()
  readonly #file: string | undefined
  readonly #startProgram: typeof startFakeProgram

  private constructor({ clock = systemClock, stateDir, startProgram = startFakeProgram }: FakeDaemonOptions) {
    this.clock = clock
    this.#file = stateDir && join(stateDir, "fake-engine.json")
    this.#startProgram = startProgram
  }

  /**
   * Opens a daemon. With a state directory its containers return, and serve again, when a later
   * process opens it.
   */
  static async open(options: FakeDaemonOptions = {}): Promise<FakeDaemon> {
    const daemon = new FakeDaemon(options)
    if (options.stateDir) mkdirSync(options.stateDir, { recursive: true, mode: 0o700 })
    for (const container of daemon.#load()) {
      daemon.containers.set(container.spec.key, container)
      if (container.state === "running") await daemon.#serve(container)
    }
    return daemon
  }

  /**
   * While false every call of an engine on this daemon fails with `engine_unreachable`; the
   * programs continue.
   */
  get reachable(): boolean {
    return this.#reachable
  }
  set reachable(reachable: boolean) {
    this.#reachable = reachable
    this.events.emit("changed")
  }

  add(instance: string, { imagePolicy: _, ...spec }: StoredSpec & Partial<RunSpec>): FakeContainer {
    const container: FakeContainer = {
      instance,
      spec,
      state: "created",
      exitCode: null,
      oomKilled: false,
      startedAt: null,
      finishedAt: null,
      lines: [],
    }
    this.containers.set(spec.key, container)
    this.#changed()
    return container
  }

  /** Starts the program of an added container. */
  async run(container: FakeContainer): Promise<void> {
    container.state = "running"
    container.startedAt = this.clock.now()
    await this.#serve(container)
    this.#changed()
  }

  /** Ends the container's program with an exit code, or as killed for memory. */
  async exit(key: string, exitCode: number, oomKilled = false): Promise<void> {
    const container = this.containers.get(key)
    if (container?.state !== "running") return
    Object.assign(container, { state: "exited", exitCode, oomKilled, finishedAt: this.clock.now() })
    this.events.emit(`end:${key}`)
    this.#changed()
    await this.#endProgram(key)
  }

  /** Removes the container at once, also as another client of a daemon would. */
  async remove(key: string): Promise<void> {
    if (this.containers.delete(key)) this.events.emit(`end:${key}`)
    this.#changed()
    await this.#endProgram(key)
  }

  /** The local port of the container's program; undefined if it does not listen. */
  portOf(key: string): number | undefined {
    return this.#programs.get(key)?.port
  }

  log(container: FakeContainer, stream: "stdout" | "stderr", text: string): void {
    const line: ContainerLogLine = { time: this.clock.now(), stream, text }
    container.lines.push(line)
    if (container.lines.length > maxLogLines) container.lines.shift()
    this.events.emit(`log:${container.spec.key}`, line)
  }

  /**
   * Ends all programs but keeps the state: a daemon opened later on the same state directory
   * restores them.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort()
    await Promise.all([...this.#programs.keys()].map((key) => this.#endProgram(key)))
  }

  async #serve(container: FakeContainer): Promise<void> {
    const { spec } = container
    const behaviour = behaviourOf(spec.image)
    this.log(container, "stdout", `fake/${behaviour.name} started, port ${spec.port}`)
    if (behaviour.name === "exits") return void setImmediate(() => this.exit(spec.key, behaviour.argument))
    if (behaviour.name === "oom") return void setImmediate(() => this.exit(spec.key, 137, true))
    if (behaviour.name === "exits-later") this.#later(behaviour.argument, () => this.exit(spec.key, 3))
    if (behaviour.listens === false) return
    if (!behaviour.isDelayed) return this.#listen(container)
    if (behaviour.name === "slow-printing") void this.#printUntilListening(container)
    this.#later(behaviour.argument, () => this.#listen(container))
  }

  async #printUntilListening(container: FakeContainer): Promise<void> {
    for (let n = 1; container.state === "running" && !this.#programs.has(container.spec.key); n += 1) {
      this.log(container, "stdout", `loaded ${n}`)
      await this.clock.sleep(50, this.#stopped.signal).catch(() => {})
      if (this.#stopped.signal.aborted) return
    }
  }

  async #listen(container: FakeContainer): Promise<void> {
    const { spec } = container
    const program = await this.#startProgram({
      spec,
      behaviour: behaviourOf(spec.image),
      log: (stream, text) => this.log(container, stream, text),
      exit: (code) => void this.exit(spec.key, code),
    })
    const isRunning = this.containers.get(spec.key) === container && container.state === "running" && !this.#stopped.signal.aborted
    if (isRunning) this.#programs.set(spec.key, program)
    else await program.close()
  }

  #later(ms: number, work: () => Promise<void>): void {
    this.clock.sleep(ms, this.#stopped.signal).then(work, () => {})
  }

  async #endProgram(key: string): Promise<void> {
    const program = this.#programs.get(key)
    this.#programs.delete(key)
    await program?.close()
  }

  #changed(): void {
    if (this.#file) {
      writeFileSync(`${this.#file}.new`, JSON.stringify([...this.containers.values()]), { mode: 0o600 })
      renameSync(`${this.#file}.new`, this.#file)
    }
    this.events.emit("changed")
  }

  #load(): FakeContainer[] {
    if (!this.#file) return []
    try {
      return JSON.parse(readFileSync(this.#file, "utf8")) as FakeContainer[]
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return []
      throw error
    }
  }
}

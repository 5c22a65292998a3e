import { unlimited } from "#contract"
import { createEngine, type FakeDaemon, openFakeDaemon } from "#engine"
import { silentLogger } from "#kit"
import type { RunRow, Store } from "#store"
import { type Random, seededRandom } from "../../../../test/fixtures/random.ts"
import { createReason } from "../../lifecycle/reasons.ts"
import { openRuns, type Runs } from "../../runs.ts"
import type { DatabaseCopy, DatabaseFiles } from "./database-files.ts"
import { Faults } from "./faults.ts"
import { HeldAnswers } from "./held-answers.ts"
import { Ledger } from "./ledger.ts"
import { Programs } from "./programs.ts"
import { Record } from "./record.ts"
import { SimulatedProcess } from "./simulated-process.ts"
import { VirtualClock } from "./virtual-clock.ts"

const node = { cpus: 8, memoryMiB: 8_192, mockGpus: 3 }
/** Turns of the event loop without any activity after which nothing moves by itself. */
const quietTurns = 4

/** Everything outside of Quayside's process, and at most one process at a time. */
export class World implements AsyncDisposable {
  readonly random: Random
  readonly clock: VirtualClock
  readonly record = new Record()
  readonly faults: Faults
  readonly held = new HeldAnswers(this.record)
  readonly programs: Programs
  readonly daemon: FakeDaemon
  readonly ledger: Ledger
  /** Projects that nobody may start any more. */
  readonly withdrawn = new Set<number>()
  /** Requests of people without an answer from the present process. */
  readonly unanswered = new Set<string>()
  process: SimulatedProcess | undefined
  runs: Runs | undefined
  isClosing = false
  readonly #files: DatabaseFiles
  /** Those of all processes, also of dead ones. */
  readonly #opened: Runs[] = []
  #store: Store
  #backup: { files: DatabaseCopy; rows: ReadonlyMap<number, RunRow> } | undefined
  /** Grows with every restored database: what was answered before may be lost. */
  epoch = 0
  #lastKey = 0

  private constructor(
    seed: number,
    files: DatabaseFiles,
    parts: { store: Store; daemon: FakeDaemon; clock: VirtualClock; programs: Programs },
  ) {
    this.random = seededRandom(seed)
    this.clock = parts.clock
    this.programs = parts.programs
    this.faults = new Faults(this.random, this.record)
    this.daemon = parts.daemon
    this.#files = files
    this.#store = parts.store
    this.ledger = new Ledger({ ...node, containers: this.daemon.containers }, files.people, this.record)
  }

  static async open(seed: number, files: DatabaseFiles): Promise<World> {
    const clock = new VirtualClock()
    const programs = new Programs()
    const daemon = await openFakeDaemon({ clock, startProgram: programs.start })
    return new World(seed, files, { store: await files.openNew(clock), daemon, clock, programs })
  }

  get store(): Store {
    return this.#store
  }

  /** Opens a process as a service manager does after the last one has ended. */
  async openProcess(): Promise<void> {
    const { clock, faults, held, ledger, programs, record } = this
    const process = new SimulatedProcess({ clock, faults, held, ledger, programs, record })
    this.process = process
    this.runs = undefined
    this.isClosing = false
    this.unanswered.clear()
    const engine = await createEngine({ kind: "fake", daemon: process.daemon(this.daemon), instance: "simulation", ...node })
    openRuns({
      store: process.store(this.#store),
      engine: process.engine(engine),
      clock: process.clock,
      logger: silentLogger,
      newKey: () => this.#newKey(),
      probe: process.probe,
      prepareDirectories: process.prepareDirectories,
      replan: async (_, { projectId, spec }) => {
        return this.withdrawn.has(projectId) ? { refusal: createReason("access_withdrawn") } : { plan: spec }
      },
      settings: {
        ...{ memoryOvercommit: 1, cpuOvercommit: 1, reserve: { cpus: 0, memoryMiB: 0 }, defaultLimits: unlimited },
        ...{ graceMs: 300, maxEndedDays: 1, timeoutsMs: { queued: 3_600_000 } },
      },
    }).then(
      (runs) => {
        this.#opened.push(runs)
        if (this.process !== process || !process.isAlive) return
        runs.startSupervisor()
        this.runs = runs
      },
      () => process.kill(),
    )
  }

  #newKey(): string {
    this.#lastKey += 1
    return this.#lastKey.toString(16).padStart(32, "0")
  }

  backUp(): void {
    this.#backup = { files: this.#files.copy(), rows: this.ledger.copy() }
  }

  get hasBackup(): boolean {
    return this.#backup !== undefined
  }

  /** Stops the process and puts the older database in place; containers stay as they are. */
  async restore(): Promise<void> {
    if (!this.#backup) return
    this.process?.kill()
    this.process = undefined
    this.runs = undefined
    await this.settleTurns()
    await this.#store[Symbol.asyncDispose]()
    this.#store = await this.#files.restore(this.#backup.files, this.clock)
    this.ledger.restore(this.#backup.rows)
    this.epoch += 1
  }

  /** Lets everything run that needs neither time nor a held answer. */
  async settleTurns(): Promise<void> {
    for (let quiet = 0; quiet < quietTurns; ) {
      const before = this.record.activity
      await new Promise((resolve) => setImmediate(resolve))
      quiet = this.record.activity === before ? quiet + 1 : 0
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.process?.kill()
    await this.settleTurns()
    // Node keeps combined signals with listeners until they abort, and with them a dead process.
    for (const runs of this.#opened) void runs.close()
    await this.settleTurns()
    await this.#store[Symbol.asyncDispose]()
    await this.daemon[Symbol.asyncDispose]()
  }
}

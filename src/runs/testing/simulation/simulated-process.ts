import { Failure, reasonMessages } from "#contract"
import { type Engine, EngineError, type FakeDaemon } from "#engine"
import type { Clock } from "#kit"
import type { Change, ChangeOptions, Store } from "#store"
import type { ProbeResult, ProbeTarget, probe } from "../../readiness/probe.ts"
import { type AnyMethod, wrapMethods } from "../wrap-methods.ts"
import type { Faults } from "./faults.ts"
import type { HeldAnswers } from "./held-answers.ts"
import { type Ledger, recordMoves } from "./ledger.ts"
import type { Programs } from "./programs.ts"
import type { Record } from "./record.ts"
import type { VirtualClock } from "./virtual-clock.ts"

export interface ProcessParts {
  clock: VirtualClock
  faults: Faults
  held: HeldAnswers
  ledger: Ledger
  programs: Programs
  record: Record
}

/** Calls of the engine that a fault may lose, cut off or repeat. */
const faultyCalls = new Set(["capacity", "observe", "start", "stop", "address", "recoverSpec", "writableLayers"])
/** An engine may hold these back, but they never fail. */
const slowCalls = new Set(["stats", "freeDisk", "listeningPorts"])

/**
 * One process of Quayside between its start and its death. Everything outside of it is reached
 * through these wrappers, which delay, lose and repeat calls, and kill the process at any of them.
 * After its death no call has an effect, and none settles.
 */
export class SimulatedProcess {
  readonly clock: Clock
  readonly #parts: ProcessParts
  #isAlive = true

  constructor(parts: ProcessParts) {
    this.#parts = parts
    this.clock = parts.clock.of(this)
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  kill(): void {
    const { clock, faults, held } = this.#parts
    this.#isAlive = false
    clock.forget(this)
    held.forget(this, () => faults.random.once(2))
  }

  /** A place where answers may be late and the process may die. */
  async pass(what: string, signal?: AbortSignal, onAbort: "reject" | "deliver" = "reject"): Promise<void> {
    const { faults, held, record } = this.#parts
    record.activity += 1
    if (!this.#isAlive) return never()
    if (faults.strikes("process killed at an await", what)) {
      this.kill()
      return never()
    }
    if (faults.strikes("answer delayed", what)) await held.hold(what, this, { signal, onAbort })
    if (!this.#isAlive) return never()
  }

  store(real: Store): Store {
    const change = <T>(work: (tx: Change) => Promise<T>, options?: ChangeOptions) => this.#change(real, work, options)
    const read =
      (name: string, method: AnyMethod): AnyMethod =>
      (...args) =>
        this.#read(name, () => method(...args) as Promise<unknown>)
    const runs = wrapMethods(real.runs, read)
    return wrapMethods(real, (name, method) => (name === "change" ? (change as AnyMethod) : method), { runs })
  }

  async #read<T>(name: string, read: () => Promise<T>): Promise<T> {
    const { faults } = this.#parts
    await this.pass(`read ${name}`)
    if (faults.strikes("database refuses a read", name)) throw unavailable()
    return read()
  }

  /** A refused change, and an unanswered COMMIT, reject like a lost connection. */
  async #change<T>(real: Store, work: (tx: Change) => Promise<T>, options: ChangeOptions | undefined): Promise<T> {
    const { faults, ledger, record } = this.#parts
    await this.pass("a change")
    if (faults.strikes("database refuses a change", "")) throw unavailable()
    const isLost = faults.strikes("answer of COMMIT lost", "")
    const dies = !isLost && faults.strikes("process killed at COMMIT", "")
    const committing = real.change(async (tx) => {
      if (!this.#isAlive) throw unavailable()
      const { recorded, moves } = recordMoves(tx, () => this.#isAlive && !isLost)
      tx.afterCommit(() => {
        record.activity += 1
        ledger.commit(moves)
        if (dies) this.kill()
      })
      return work(recorded)
    }, options)
    const result = await committing.catch((error: unknown) => (this.#isAlive ? Promise.reject(error) : never()))
    if (isLost) throw unavailable()
    await this.pass("the answer of a change")
    return result
  }

  /** The daemon as this process reaches it. A request on its way may arrive after its death. */
  daemon(real: FakeDaemon): FakeDaemon {
    const act = (name: string, method: AnyMethod): AnyMethod => {
      return (...args) => {
        if (!this.#isAlive) return never()
        if (!["run", "exit", "remove"].includes(name)) return method(...args)
        return this.#send(name, real, () => method(...args) as Promise<void>, args[0])
      }
    }
    return wrapMethods(real, act, { clock: this.clock })
  }

  /** It means the container of the moment when it was sent, not a later one of the same key. */
  async #send(name: string, daemon: FakeDaemon, effect: () => Promise<void>, target: unknown): Promise<void> {
    const { faults, held } = this.#parts
    const containerOf = () => (typeof target === "string" ? daemon.containers.get(target) : target)
    const meant = containerOf()
    if (faults.strikes("answer delayed", name)) await held.hold(`the request to ${name}`, this, { isRequest: true })
    if (!this.#isAlive) this.#parts.record.fault("request of a dead process arrives", name)
    if (containerOf() === meant) await effect()
    if (!this.#isAlive) return never()
  }

  engine(real: Engine): Engine {
    const wrap = (name: string, method: AnyMethod): AnyMethod => {
      if (name === "watch") return (changed, signal) => method(() => void this.#notify(changed as () => void), signal)
      if (name === "logs") return (...args) => this.#output(method(...args) as AsyncIterable<unknown>)
      if (slowCalls.has(name)) return (...args) => this.pass(name, signalOf(args)).then(() => method(...args))
      if (faultyCalls.has(name)) return (...args) => this.#call(name, () => method(...args) as Promise<unknown>, signalOf(args))
      return method
    }
    return wrapMethods(real, wrap)
  }

  async #call<T>(name: string, call: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const { faults } = this.#parts
    await this.pass(`the request to ${name}`, signal)
    if (faults.strikes("request lost", name)) throw unreachable()
    const isDropped = faults.strikes("answer dropped after its effect", name)
    let result = await call()
    // A canceled call is not repeated: the engine would refuse it before it begins.
    if (!signal?.aborted && faults.strikes("request repeated", name)) result = await call()
    if (isDropped) throw unreachable()
    await this.pass(`the answer of ${name}`, signal, name === "start" || name === "stop" ? "deliver" : "reject")
    return result
  }

  async #notify(changed: () => void): Promise<void> {
    await this.pass("the engine's notice")
    changed()
    if (this.#parts.faults.strikes("notice repeated", "")) changed()
  }

  async *#output<T>(lines: AsyncIterable<T>): AsyncIterable<T> {
    await this.pass("the output")
    yield* lines
  }

  /** Asks the programs of the simulation instead of the network. */
  readonly probe: typeof probe = async ({ address }: ProbeTarget, signal): Promise<ProbeResult> => {
    const { faults, programs } = this.#parts
    await this.pass("a probe", signal)
    if (faults.strikes("program does not answer", "")) return { ready: false, code: "not_answering", detail: "no answer came" }
    const isOpen = programs.keyAt(address.port) !== undefined
    await this.pass("the answer of a probe", signal)
    return isOpen ? { ready: true } : { ready: false, code: "port_not_open" }
  }

  prepareDirectories = async (_: unknown, { signal }: { signal: AbortSignal }): Promise<void> => {
    await this.pass("directories", signal)
    if (this.#parts.faults.strikes("directories cannot be prepared", ""))
      throw new EngineError("mount_missing", reasonMessages.mount_missing)
  }
}

/** A new promise each time: reactions to a shared one would never be released. */
function never(): Promise<never> {
  return new Promise(() => {})
}

function signalOf(args: unknown[]): AbortSignal | undefined {
  for (const arg of args) {
    if (arg instanceof AbortSignal) return arg
    const { signal } = (arg ?? {}) as { signal?: unknown }
    if (signal instanceof AbortSignal) return signal
  }
  return undefined
}

function unreachable(): EngineError {
  return new EngineError("engine_unreachable", reasonMessages.engine_unreachable)
}

function unavailable(): Failure {
  return new Failure("unavailable", "The connection to the database was lost")
}

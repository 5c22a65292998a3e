import type { FakeDaemon } from "#engine"
import type { Store } from "#store"
import { chooseAction, simulationActions, stopRun } from "./actions.ts"
import type { DatabaseFiles } from "./database-files.ts"
import { BrokenRule, type Ledger } from "./ledger.ts"
import type { Record } from "./record.ts"
import { World } from "./world.ts"

export interface Outcome {
  seed: number
  record: Record
  /** The broken rule; undefined when all were kept. */
  failure: string | undefined
}

/** Runs one seed: so many steps, each followed by the checks, and the calm in which all settles. */
export async function simulate(seed: number, files: DatabaseFiles, steps = 200): Promise<Outcome> {
  await using world = await World.open(seed, files)
  try {
    for (let step = 1; step <= steps; step += 1) await takeStep(world, step)
    await new Calm(world).settle()
    return { seed, record: world.record, failure: undefined }
  } catch (error) {
    const failure = error instanceof BrokenRule ? error.message : String((error as Error).stack)
    return { seed, record: world.record, failure }
  }
}

async function takeStep(world: World, step: number): Promise<void> {
  const { record, clock, process } = world
  record.at = `${String(step).padStart(3)} ${(clock.elapsed / 1_000).toFixed(2)} s`
  if (!process?.isAlive) {
    record.line("process opened")
    await world.openProcess()
  } else {
    const name = chooseAction(world)
    record.fault(name)
    await simulationActions[name]?.run(world)
  }
  await world.settleTurns()
  await checkWorld(world)
}

/** The rules that hold after every step; those of each COMMIT are the ledger's. */
async function checkWorld({ ledger, store, daemon, runs, programs }: World): Promise<void> {
  if (ledger.broken) throw ledger.broken
  if (ledger.isChanged) await compareWithDatabase(ledger, store)
  checkDevices(ledger, daemon)
  for (const { id, key, address } of runs?.targets() ?? []) {
    const owner = address && programs.keyAt(address.port)
    ledger.require(owner === undefined || owner === key, `the address of run ${id} is that of ${owner}`)
  }
}

/** Nothing was lost, and nothing written that was not a move. */
async function compareWithDatabase(ledger: Ledger, store: Store): Promise<void> {
  ledger.isChanged = false
  const stored = (await store.runs.live()).map(({ id, state, version }) => `${id} ${state} ${version}`)
  const known = ledger.live().map(({ id, state, version }) => `${id} ${state} ${version}`)
  ledger.require(stored.join() === known.join(), `the database has the live runs ${known}, not ${stored}`)
}

function checkDevices(ledger: Ledger, daemon: FakeDaemon): void {
  const holders = new Map<string, string>()
  for (const { spec, state } of daemon.containers.values()) {
    if (state === "exited") continue
    for (const device of spec.gpus) {
      ledger.require(!holders.has(device), `two containers have ${device}: of run ${spec.run} and ${holders.get(device)}`)
      holders.set(device, `run ${spec.run}`)
    }
  }
}

const queueEndsWithin = 60
const settlesWithin = 150
/** First short, so that answers arrive before deadlines, and then beyond every deadline. */
const leapMs = (n: number) => (n < 15 ? 100 : n < 45 ? 1_000 : n < 110 ? 15_000 : 130_000)

/** The time after the last fault: everything reaches its end state, and nothing is left. */
class Calm {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  async settle(): Promise<void> {
    const { daemon, faults, held, withdrawn } = this.#world
    this.#world.record.at = "end"
    faults.isCalm = true
    withdrawn.clear()
    daemon.reachable = true
    while (held.count > 0) held.deliver(0)
    await this.#world.settleTurns()
    if (this.#world.isClosing) this.#world.process?.kill()
    if (!this.#world.process?.isAlive) await this.#world.openProcess()
    await this.#until("every run is ready or queued, each with its container", settlesWithin, () => this.#isAtRest())
    await this.#endAll()
    await this.#passOrphanGrace()
  }

  async #until(what: string, times: number, isReached: () => boolean | Promise<boolean>): Promise<void> {
    const { clock, held } = this.#world
    for (let n = 0; n < times; n += 1) {
      while (held.count > 0) held.deliver(0)
      await this.#world.settleTurns()
      await checkWorld(this.#world)
      if (await isReached()) return
      clock.advance(leapMs(n))
    }
    throw new BrokenRule(`It did not settle: ${what}; ${this.#describe()}`)
  }

  #isAtRest(): boolean {
    const { daemon, ledger, runs, unanswered } = this.#world
    if (!runs || unanswered.size > 0) return false
    const isUp = (key: string, id: number) => daemon.containers.get(key)?.state === "running" && runs.target(id)?.address !== undefined
    const areUp = ledger.live().every(({ id, key, state }) => state === "queued" || (state === "ready" && isUp(key, id)))
    const isTold = ledger.live().every(({ id, version }) => runs.row(id)?.version === version)
    const leftovers = [...daemon.containers.keys()].filter((key) => ledger.byKey(key)?.endTime != null)
    const isQueueAlone = ledger.live().length > 0 && ledger.admitted().length === 0
    return areUp && isTold && !isQueueAlone && leftovers.length === 0
  }

  /** People stop what runs until the whole queue has had its turn. */
  async #endAll(): Promise<void> {
    const { ledger, unanswered } = this.#world
    for (let n = 0; n < queueEndsWithin; n += 1) {
      if (ledger.live().length === 0) return
      for (const run of ledger.admitted()) stopRun(this.#world, run)
      const before = ledger.live().length
      await this.#until("stopped runs end, and the queue moves", settlesWithin, () => {
        const live = ledger.live()
        return unanswered.size === 0 && (live.length < before || live.length === 0) && this.#isAtRest()
      })
    }
    throw new BrokenRule(`The queue did not end; ${this.#describe()}`)
  }

  async #passOrphanGrace(): Promise<void> {
    const { clock, daemon, ledger, runs } = this.#world
    clock.advance(700_000)
    await this.#until("no container is left", settlesWithin, () => {
      // A container of a newer database may be adopted only now.
      for (const run of ledger.live()) if (run.state === "ready") stopRun(this.#world, run)
      return daemon.containers.size === 0
    })
    await this.#until("all of the node is free", settlesWithin, async () => {
      const nodes = (await runs?.nodeUsage()) ?? []
      return nodes.every(({ cpus, memoryMiB, gpus }) => [cpus, memoryMiB, gpus].every(({ total, free }) => total === free))
    })
    ledger.require(ledger.live().length === 0, "no run came back")
  }

  #describe(): string {
    const { daemon, ledger, unanswered, runs } = this.#world
    const rows = ledger.live().map(({ id, state, key }) => {
      return `run ${id} ${state} (memory: ${runs?.row(id)?.state}, container: ${daemon.containers.get(key)?.state})`
    })
    const containers = [...daemon.containers.values()].map(({ spec, state }) => `container of run ${spec.run} ${state}`)
    return [...rows, ...containers, ...unanswered].join("; ")
  }
}

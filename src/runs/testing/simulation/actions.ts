import { Failure } from "#contract"
import type { RunRow } from "#store"
import { AlreadyRunningError, type StartRequest } from "../../admission/requests.ts"
import type { Runs } from "../../runs.ts"
import type { World } from "./world.ts"

const images = [
  "fake/http",
  "fake/http",
  "fake/busy",
  "fake/slow:2000",
  "fake/slow-pull:3000",
  "fake/exits:2",
  "fake/exits-later:30000",
  "fake/oom",
  "fake/missing",
  "fake/stubborn",
  "fake/no-port",
  "fake/no-command",
  "fake/disk-full",
  "fake/stuck-pull",
  "fake/stuck-create",
  "fake/stuck-start",
]

/** Milliseconds by which time moves; 0 is until the next sleep is over. */
const leaps = [
  ...[0, 0, 0, 0, 0, 0, 0, 0, 60, 60, 60, 60, 60, 60, 300, 300, 300, 300, 300, 1_000, 1_000, 1_000],
  ...[3_000, 3_000, 10_000, 60_000, 130_000, 300_000, 700_000, 4_000_000, 100_000_000],
]

/** An action of one step: its weight, and whether it is possible now. */
interface Action {
  weight: number
  isPossible?(world: World): boolean
  run(world: World): void | Promise<void>
}

const canAsk = (world: World) => world.runs !== undefined && !world.isClosing && world.process?.isAlive === true

export const simulationActions: Readonly<{ [name: string]: Action }> = {
  "answer arrives": {
    weight: 40,
    isPossible: ({ held }) => held.count > 0,
    run: (world) => world.held.deliver(world.random.below(world.held.count)),
  },
  "time passes": { weight: 26, run: passTime },
  start: { weight: 14, isPossible: canAsk, run: start },
  "start repeated": { weight: 2, isPossible: (world) => canAsk(world) && lastStart.has(world), run: repeatStart },
  stop: { weight: 5, isPossible: canAsk, run: stopOne },
  "keep alive": { weight: 2, isPossible: canAsk, run: keepAlive },
  "program exits": { weight: 3, run: (world) => withContainer(world, (key) => world.daemon.exit(key, 5)) },
  "program killed for memory": { weight: 1, run: (world) => withContainer(world, (key) => world.daemon.exit(key, 137, true)) },
  "container removed by others": { weight: 2, run: (world) => withContainer(world, (key) => world.daemon.remove(key)) },
  "engine down": { weight: 2, isPossible: ({ daemon }) => daemon.reachable, run: (world) => setReachable(world, false) },
  "engine up": { weight: 12, isPossible: ({ daemon }) => !daemon.reachable, run: (world) => setReachable(world, true) },
  "process killed": { weight: 2, isPossible: ({ process }) => process?.isAlive === true, run: (world) => world.process?.kill() },
  "process closed": { weight: 1, isPossible: canAsk, run: close },
  backup: { weight: 1, run: (world) => world.backUp() },
  "older database restored": { weight: 1, isPossible: (world) => world.hasBackup, run: (world) => world.restore() },
  "right withdrawn": { weight: 1, isPossible: ({ withdrawn }) => withdrawn.size === 0, run: withdraw },
  "right granted": { weight: 3, isPossible: ({ withdrawn }) => withdrawn.size > 0, run: (world) => world.withdrawn.clear() },
}

const named = Object.entries(simulationActions)

/** Chooses one possible action by the seed. */
export function chooseAction(world: World): string {
  const possible = named.filter(([, { isPossible }]) => isPossible?.(world) ?? true)
  let dice = world.random.below(possible.reduce((sum, [, { weight }]) => sum + weight, 0))
  for (const [name, { weight }] of possible) {
    dice -= weight
    if (dice < 0) return name
  }
  return "time passes"
}

function passTime({ clock, random, record }: World): void {
  const ms = random.pick(leaps) || clock.untilNext
  record.line(`    ${ms} ms`)
  clock.advance(ms)
}

/** The last start of each world, for its repetition. */
const lastStart = new WeakMap<World, { request: StartRequest; key: string }>()

function start(world: World): void {
  const { random, record, ledger } = world
  const { ids, projectIds } = ledger.people
  const person = random.below(ids.length)
  const image = random.pick(images)
  const resources = { cpus: 1 + random.below(3), memoryMiB: 512, gpus: random.below(3), gpuMemoryMiB: 0, nodes: 0 }
  const request = {
    userId: ids[person] ?? 0,
    userName: `person${person}`,
    projectId: random.pick(projectIds),
    plan: planOf(image),
    resources,
  }
  record.line(`    person${person} starts ${image} as project ${request.projectId} with ${resources.gpus} GPUs`)
  lastStart.set(world, { request, key: `key ${record.lines.length}` })
  repeatStart(world)
}

function repeatStart(world: World): void {
  const last = lastStart.get(world)
  if (!last) return
  const { request, key } = last
  const idempotency = { key, bodyHash: key }
  perform(world, "start", async (runs) => {
    const run = await runs.start(request, { idempotency })
    return () => world.ledger.require(world.ledger.isKnown(run), `the answered run ${run.id} is in the database`)
  })
}

function planOf(image: string): StartRequest["plan"] {
  const place = { workDir: "/work/code", home: "/work/home", mounts: [] }
  return { type: "http", image, imageByAdmin: true, command: null, env: {}, port: null, secret: "sesame", ...place }
}

export function stopRun(world: World, run: RunRow): void {
  const { id, key } = run
  perform(world, `stop of run ${id}`, async (runs) => {
    const ended = await runs.stop(id, { by: "stopped_by_user" })
    return () => {
      if (!ended) return
      world.ledger.require(world.ledger.hasEnded(run), `the stop of run ${id} was answered after its end`)
      world.ledger.require(!world.ledger.hasContainerAfterEnd(key), `the stop of run ${id} was answered without its container`)
    }
  })
}

function stopOne(world: World): void {
  const run = world.random.pick(world.ledger.live())
  if (run) stopRun(world, run)
}

function keepAlive(world: World): void {
  const run = world.random.pick(world.ledger.live())
  if (!run) return
  world.runs?.markActive(run.id)
  perform(world, `more time for run ${run.id}`, async (runs) => {
    await runs.keepAlive(run.id)
    return () => {}
  })
}

/** Asks the present process. Its answer, unless a failure, is checked when it arrives. */
function perform(world: World, what: string, work: (runs: Runs) => Promise<() => void>): void {
  const { epoch, ledger, process, record, runs } = world
  if (!runs) return
  const name = `${what} (${record.lines.length})`
  world.unanswered.add(name)
  const answer = (text: string) => {
    if (world.process !== process || !process?.isAlive) return false
    record.line(`    ${name}: ${text}`)
    return world.unanswered.delete(name)
  }
  work(runs).then(
    (check) => {
      if (answer("done") && world.epoch === epoch) ledger.check(check)
    },
    (error: unknown) => {
      const isExpected = error instanceof Failure || error instanceof AlreadyRunningError || world.isClosing
      if (answer(String(error)) && !isExpected) ledger.check(() => ledger.require(false, `${name} failed with ${error}`))
    },
  )
}

function withContainer({ daemon, random, record }: World, work: (key: string) => Promise<void>): void {
  const key = random.pick([...daemon.containers.keys()])
  if (key === undefined) return
  record.line(`    of run ${daemon.containers.get(key)?.spec.run}`)
  void work(key)
}

function setReachable({ daemon }: World, isReachable: boolean): void {
  daemon.reachable = isReachable
}

function close(world: World): void {
  world.isClosing = true
  const { process } = world
  void world.runs?.close().then(() => process?.kill())
}

/** As a change of the project by its owner, the journal tells it. */
async function withdraw(world: World): Promise<void> {
  const id = world.random.pick(world.ledger.people.projectIds)
  world.withdrawn.add(id)
  await world.store.change((tx) => tx.journal({ event: "project.updated", data: { ID: id }, resource: { type: "project", id } }))
}

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type ReasonCode, type RunState, unlimited } from "#contract"
import { createEngine, type Engine, type FakeDaemon, openFakeDaemon } from "#engine"
import { type Clock, silentLogger, systemClock } from "#kit"
import { openStore, type RunPlan, type RunRow, type Store } from "#store"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { openRuns, type RunSettingsOptions, type Runs, type RunsOptions, type StartRequest } from "../index.ts"

export { eventually }

export const fastSettings: RunSettingsOptions = {
  graceMs: 300,
  observeEveryMs: 100,
  activityEveryMs: 50,
  memoryOvercommit: 1,
  cpuOvercommit: 1,
  reserve: { cpus: 0, memoryMiB: 0 },
  // Long enough for the slowest machine; tests of deadlines set their own.
  timeoutsMs: { pulling: 30_000, creating: 30_000, starting: 30_000, stopping: 30_000 },
}

export interface RunsFixtureOptions {
  cpus?: number
  memoryMiB?: number
  mockGpus?: number
  /** Number of people. Default 3. */
  people?: number
  /** The clock of the fake engine and of the `Runs`. Default: the system's. */
  clock?: Clock
  settings?: RunSettingsOptions
  /** An empty database, which the fixture closes. Default: one of SQLite. */
  store?: Store
}

/**
 * A database and a fake engine that outlive the `Runs` made on them, as they outlive Quayside's
 * process.
 */
export class RunsFixture implements AsyncDisposable {
  readonly store: Store
  readonly fake: FakeDaemon
  readonly users: number[] = []
  projectId = 0
  readonly transitions: { id: number; from: RunState | undefined; to: RunState; reason: ReasonCode | undefined }[] = []
  readonly #options: RunsFixtureOptions
  readonly #resources = new AsyncDisposableStack()

  private constructor(store: Store, fake: FakeDaemon, options: RunsFixtureOptions) {
    this.store = store
    this.fake = fake
    this.#options = options
  }

  static async open(options: RunsFixtureOptions = {}): Promise<RunsFixture> {
    const directory = await mkdtemp(join(tmpdir(), "quayside-runs-"))
    const store =
      options.store ?? (await openStore({ url: `sqlite:${join(directory, "quayside.db")}`, logger: silentLogger, clock: systemClock }))
    const fake = await openFakeDaemon({ clock: options.clock ?? systemClock })
    const fixture = new RunsFixture(store, fake, options)
    fixture.#resources.defer(() => rm(directory, { recursive: true }))
    fixture.#resources.use(store)
    fixture.#resources.use(fake)
    await fixture.#populate(options.people ?? 3)
    return fixture
  }

  async #populate(people: number): Promise<void> {
    await this.store.change(async (tx) => {
      this.users.length = 0
      for (let n = 0; n < people; n += 1) {
        const person = { passwordHash: null, email: "", comment: "", isAdmin: false, isDisabled: false, limits: unlimited }
        this.users.push((await tx.users.insert({ ...person, userName: `person${n}` })).id)
      }
      const common = { userId: this.users[0] ?? 0, comment: "", doc: "", isTrusted: false, writtenBy: 0 }
      const settings = { command: "", env: "", port: "", writablePaths: [], keepPresent: false }
      const image = await tx.images.insert({ ...common, ...settings, name: "i", image: "fake/http", isPublished: true })
      const paths = { userPath: "", codePath: "", modelPath: "", startMinutes: 0, idleMinutes: 0, maxRunHours: 0 }
      const project = { ...common, ...paths, projectName: "p", type: "http" as const, isPublic: true, imageId: image.id, groupId: 0 }
      this.projectId = (await tx.projects.insert(project)).id
    })
  }

  engine(daemon: FakeDaemon = this.fake): Promise<Engine> {
    const { cpus = 64, memoryMiB = 262_144, mockGpus = 0 } = this.#options
    return createEngine({ kind: "fake", daemon, instance: "test", cpus, memoryMiB, mockGpus })
  }

  /**
   * An engine with counted observations; `observations` resolves after so many more of them,
   * successful or not.
   */
  async observedEngine(): Promise<{ engine: Engine; observations(count: number): Promise<void> }> {
    const engine = await this.engine()
    const observe = engine.observe.bind(engine)
    let seen = 0
    engine.observe = (signal) =>
      observe(signal).finally(() => {
        seen += 1
      })
    const observations = (count: number) => {
      const target = seen + count
      return eventually(`the engine was observed ${count} times`, () => seen >= target)
    }
    return { engine, observations }
  }

  /** Opens `Runs` as one process of Quayside does. */
  async runs(options: Partial<RunsOptions> = {}): Promise<Runs> {
    const runs = await openRuns({
      store: this.store,
      engine: await this.engine(),
      clock: this.#options.clock ?? systemClock,
      ...options,
      settings: { ...fastSettings, ...this.#options.settings, ...options.settings },
      events: {
        stateChanged: async (tx, run, before) => {
          const change = { id: run.id, from: before?.state, to: run.state, reason: run.reason?.code }
          tx.afterCommit(() => this.transitions.push(change))
        },
        ...options.events,
      },
    })
    runs.startSupervisor()
    return runs
  }

  async row(id: number): Promise<RunRow> {
    const run = await this.store.runs.get(id)
    if (!run) throw new Error(`There is no run ${id}`)
    return run
  }

  /** The states that a run went through, in order. */
  statesOf(id: number): RunState[] {
    return this.transitions.filter((change) => change.id === id).map(({ to }) => to)
  }

  /** Keys of the engine's containers. */
  containerKeys(): string[] {
    return [...this.fake.containers.keys()]
  }

  request(image: string, values: Partial<Omit<StartRequest, "plan" | "resources">> & RequestOptions = {}): StartRequest {
    const { cpus = 1, memoryMiB = 64, gpus = 0, nodes = 0, gpuMemoryMiB = 0, plan, person = 0, ...rest } = values
    const resources = { cpus, memoryMiB, gpus, nodes, gpuMemoryMiB }
    const userId = this.users[person] ?? 0
    return { userId, userName: `person${person}`, projectId: this.projectId, plan: { ...planOf(image), ...plan }, resources, ...rest }
  }

  /** The ID of another project like the fixture's own: a person has one run of each. */
  async addProject(): Promise<number> {
    const project = await this.store.projects.get(this.projectId)
    if (!project) throw new Error("the fixture has no project")
    const { id: _, ...fields } = project
    return (await this.store.change((tx) => tx.projects.insert(fields))).id
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync()
  }
}

interface RequestOptions {
  person?: number
  cpus?: number
  memoryMiB?: number
  gpus?: number
  gpuMemoryMiB?: number
  nodes?: number
  plan?: Partial<RunPlan>
}

function planOf(image: string): RunPlan {
  return {
    type: "http",
    image,
    imageByAdmin: true,
    command: null,
    env: {},
    port: null,
    workDir: "/work/code",
    home: "/work/home",
    mounts: [],
    secret: "sesame",
  }
}

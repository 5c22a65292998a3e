import assert from "node:assert/strict"
import { join } from "node:path"
import type { ReasonCode, RunningProject } from "#contract"
import { silentLogger } from "#kit"
import { eventually } from "../fixtures/eventually.ts"
import { type Person, startTestServer, type TestServer } from "../test-server.ts"

/** Short times for outcomes that a deadline causes; a person waits 10 s and two minutes. */
const supervision = {
  graceMs: 300,
  startupLookEveryMs: 500,
  startupHintAfterMs: 1_500,
  startMinutes: 15 / 60,
  timeoutsMs: { starting: 15_000 },
}

/** The tests wait this many times longer, since other work may slow the machine down. */
const patience = 8

export interface FaultFields {
  image?: object
  project?: object
  start?: object
}

/** A fault of the world, and how a person learns of it. */
export interface Fault {
  name: string
  /** A reference. */
  image: string
  /** Further fields of the image, the project and the start. */
  fields?: FaultFields
  /** Breaks something before the project is made, or makes what `beforeStart` breaks. */
  prepare?: (rig: FaultServer, starter: Person) => Promise<{ project?: object; beforeStart?: () => Promise<unknown> }>
  /** Default: `ann`. */
  starter?: string
  /** The last progress before the end. */
  progress?: RegExp
  /** Whether the program answers at first. */
  wasReady?: true
  code: ReasonCode
  /** The sentence, which names the thing. */
  msg: RegExp
  /** Default: any hint. */
  hint?: RegExp
  exitCode?: number
  logTail?: RegExp
  /** In how many seconds a person knows it, by the progress or the reason. */
  withinS: number
}

export interface FaultServer extends AsyncDisposable {
  readonly server: TestServer
  readonly people: ReadonlyMap<string, Person>
  /** A path below the files root. */
  file(path: string): string
  /** Starts a project with the fault. */
  start(fault: Fault): Promise<FaultyRun>
}

export interface FaultyRun {
  readonly starter: Person
  read(): Promise<RunningProject>
  stop(): Promise<void>
  /** Resolves when the progress says so. */
  progress(text: RegExp): Promise<void>
  /** Checks how it goes on and ends; returns the ended run. */
  check(): Promise<RunningProject>
}

/** `more.gpuToolPath`: the directory of an `nvidia-smi`. */
export async function startFaultServer(
  settings: Readonly<Record<string, string>>,
  more: { gpuToolPath?: string } = {},
): Promise<FaultServer> {
  const options = { engine: "docker", registries: "127.0.0.1:*", "cpu-overcommit": "50", ...settings }
  const server = await startTestServer(options, silentLogger, undefined, { supervision, ...more })
  const people = new Map<string, Person>()
  for (const name of ["ann", "bob", "carl"]) people.set(name, await server.person(name))
  people.set("dora", await server.person("dora", { Limits: { MaxCpus: 1 } }))
  await server.acquaint(...people.values())
  const rig: FaultServer = {
    server,
    people,
    file: (path) => join(server.dataDir, "files", path),
    start: (fault) => startWithFault(rig, fault),
    async [Symbol.asyncDispose]() {
      const { data } = await server.admin.listRuns({ query: { pageSize: 200 } })
      await Promise.allSettled(data.map(({ ID }) => server.admin.stopRun({ query: { ID } })))
      await server[Symbol.asyncDispose]()
    },
  }
  return rig
}

async function startWithFault(rig: FaultServer, fault: Fault): Promise<FaultyRun> {
  const { image, fields = {}, prepare } = fault
  const starter = rig.people.get(fault.starter ?? "ann") as Person
  const body = { Name: fault.name, Image: image, IsPublished: true, ...fields.image }
  const { ID: ImageID } = await rig.server.admin.createImage({ body })
  const prepared = await prepare?.(rig, starter)
  const project = { ProjectName: fault.name, Type: "http", ImageID, ...fields.project, ...prepared?.project }
  const { ID: ProjectID } = await starter.client.createProject({ body: project })
  await prepared?.beforeStart?.()
  const { ID } = await startAsync(starter, { ProjectID, Memory: 64, ...fields.start })
  const waitMs = fault.withinS * patience * 1_000
  const run: FaultyRun = {
    starter,
    read: () => starter.client.readRun({ query: { ID } }),
    stop: async () => void (await starter.client.stopRun({ query: { ID } })),
    progress: (text) => eventually(`the progress says ${text}`, async () => text.test((await run.read()).Progress?.step ?? ""), waitMs),
    async check() {
      if (fault.progress) await run.progress(fault.progress)
      if (fault.wasReady) await eventually("it is ready", async () => (await run.read()).ReadyTime !== null, waitMs)
      const isOver = async () => ["ended", "failed"].includes((await run.read()).State)
      await eventually("it is over", isOver, fault.progress ? 120_000 : waitMs)
      const ended = await run.read()
      assertReason(ended, fault)
      return ended
    },
  }
  return run
}

/** A start that fails at once is a failure with the run's ID. */
async function startAsync({ client }: Person, body: object): Promise<Pick<RunningProject, "ID">> {
  try {
    return await client.startRun({ body, headers: { prefer: "respond-async" } })
  } catch (error) {
    const { ID } = (error as { extra?: { ID?: number } }).extra ?? {}
    if (ID === undefined) throw error
    return { ID }
  }
}

function assertReason({ Reason, State }: RunningProject, { code, msg, hint = /\w/, exitCode, logTail, wasReady }: Fault): void {
  assert.equal(State, wasReady ? "ended" : "failed")
  assert.equal(Reason?.code, code, JSON.stringify(Reason))
  assert.match(Reason?.msg ?? "", msg)
  assert.match(Reason?.hint ?? "", hint)
  for (const sentence of [Reason?.msg, Reason?.hint]) assert.match(sentence ?? "", /^[^a-z].*[^.\s]$/s)
  assert.equal(Reason?.exitCode, exitCode)
  if (logTail) assert.match(Reason?.logTail ?? "", logTail)
}

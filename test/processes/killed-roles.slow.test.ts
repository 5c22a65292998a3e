import assert from "node:assert/strict"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { after, before, test } from "node:test"
import type pg from "pg"
import { basicAuth } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { type Installation, openInstallation, type RoleProcess } from "./installation.ts"

const roles = ["api", "supervisor", "gateway", "files"] as const
type Role = (typeof roles)[number]
const steps = ["pulling", "creating", "starting", "ready", "stopping", "ended"] as const
type Step = (typeof steps)[number]

/** A number for the lock that holds a change of state back. */
const barrier = 471_109

let installation: Installation
let processes: Record<Role, RoleProcess>
let database: pg.Client
let imageId: number
before(async () => {
  installation = await openInstallation()
  const api = await installation.start("api")
  const [supervisor, gateway, files] = (await Promise.all(["supervisor", "gateway", "files"].map((role) => installation.start(role)))) as [
    RoleProcess,
    RoleProcess,
    RoleProcess,
  ]
  processes = { api, supervisor, gateway, files }
  imageId = (await installation.admin.createImage({ body: { Name: "App", Image: "quayside/python-app", Port: "8000" } })).ID
  database = await installation.postgres.connect(new URL(installation.databaseUrl).pathname.slice(1))
  await database.query(`
    create table held_steps (state text primary key);
    create function hold_step() returns trigger language plpgsql as $body$ begin
      if exists (select 1 from held_steps where state = new.state) then perform pg_advisory_xact_lock(${barrier}); end if;
      return null;
    end $body$;
    create trigger hold_step after insert or update of state on runs for each row execute function hold_step()`)
})
after(async () => {
  await database.query("delete from held_steps; select pg_advisory_unlock_all()")
  await Promise.all((await liveRuns()).map(({ ID }) => installation.admin.stopRun({ query: { ID } }))).catch(() => {})
  await database.end()
  await installation[Symbol.asyncDispose]()
})

const liveRuns = async () => (await installation.admin.listRuns({ query: { pageSize: 100 } })).data

/** Asks again until somebody answers, as a client does. */
async function insist<T>(what: string, ask: () => Promise<T>): Promise<T> {
  let answer: { value: T } | undefined
  await eventually(
    what,
    async () => {
      answer = await ask().then(
        (value) => ({ value }),
        () => undefined,
      )
      return answer !== undefined
    },
    60_000,
  )
  return (answer as { value: T }).value
}

/** Kills the role while the change to this state is held back before its COMMIT. */
async function killDuring(role: Role, step: Step): Promise<void> {
  const isHeldBack = "select 1 from pg_locks where locktype = 'advisory' and objid = $1 and not granted"
  await eventually(`a change to ${step}`, async () => (await database.query(isHeldBack, [barrier])).rowCount === 1, 60_000)
  await processes[role].kill()
}

/** Kills the role as soon as the state, or one that follows, is in the database. */
async function killAfter(role: Role, step: Step, key: string): Promise<void> {
  const state = "select r.state from runs r join projects p on p.id = r.project_id where p.project_name = $1"
  for (;;) {
    const found = steps.indexOf((await database.query(state, [key])).rows[0]?.state)
    if (found >= steps.indexOf(step)) break
  }
  await processes[role].kill()
}

/** One start and one stop, with a death at one step of them. */
async function liveWithDeath(role: Role, step: Step, when: "during" | "after"): Promise<void> {
  const { admin } = installation
  const key = `${role}-${step}-${when}`
  const { ID: projectId } = await admin.createProject({ body: { ProjectName: key, ImageID: imageId, Type: "http", Datas: [] } })
  const start = { body: { ProjectID: projectId, CPUs: 1, Memory: 128 }, headers: { "idempotency-key": key } }
  const isAtStop = step === "stopping" || step === "ended"
  const starting = isAtStop ? undefined : insist(`${key} starts`, () => admin.startRun(start))
  const run = starting ?? admin.startRun(start)
  if (isAtStop) await run
  if (when === "during") await database.query("insert into held_steps values ($1)", [step])
  const stop = async () => insist(`${key} stops`, async () => admin.stopRun({ query: { ID: (await run).ID } }))
  const stopping = isAtStop ? stop() : undefined
  await (when === "during" ? killDuring(role, step) : killAfter(role, step, key))
  processes[role] = await installation.start(role)
  const { ID, State } = await run
  if (!isAtStop) assert.equal(State, "ready", key)
  if (!isAtStop) await servesEverything(ID)
  await (stopping ?? stop())
  await leavesNothing(key)
}

async function servesEverything(id: number): Promise<void> {
  const headers = { authorization: basicAuth("admin", installation.password) }
  const page = await insist("its page opens", () => fetch(`${installation.appsUrl}/run/${id}/echo`, { headers }))
  assert.equal(page.status, 200)
  const put = () => fetch(`${installation.filesUrl}/users/admin/file.txt`, { method: "PUT", headers, body: "some" })
  await eventually("files are taken", async () => (await insist("an answer", put)).ok)
}

async function leavesNothing(key: string): Promise<void> {
  const rows = await database.query("select r.state from runs r join projects p on p.id = r.project_id where p.project_name = $1", [key])
  assert.deepEqual(rows.rows, [{ state: "ended" }], `${key}: exactly one run`)
  assert.deepEqual(await installation.containers(), [], key)
  const pins = join(installation.dataDir, "mounts")
  await eventually(`${key}: no mount is left`, async () => (await readdir(pins).catch(() => [])).length === 0)
}

for (const role of roles) {
  test(`kill -9 of the ${role} at each step of a start and a stop loses, doubles and leaves nothing`, async () => {
    for (const step of steps) {
      for (const when of ["during", "after"] as const) {
        await database.query("select pg_advisory_lock($1)", [barrier])
        const life = liveWithDeath(role, step, when)
        const killed = processes[role]
        await Promise.race([life, new Promise((resolve) => killed.child.once("exit", resolve))])
        await database.query("delete from held_steps; select pg_advisory_unlock_all()")
        await life
      }
    }
  })
}

import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { basicAuth, type Client, createClient } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { workerPid } from "../fixtures/files/files-server.ts"
import { KillTestClient } from "../fixtures/killed/kill-clients.ts"
import { seededRandom } from "../fixtures/random.ts"
import { type ServerProcess, startServerProcess } from "../server-process.ts"

const exec = promisify(execFile)
const kills = Number(process.env.KILLS ?? 20)
const people = 10
const ofPerson = (n: number) => `k${process.pid}-${n}`

const lines = async (...words: string[]) => (await exec("docker", words)).stdout.split("\n").filter((line) => line !== "")

/** The run of each container of these people, and the networks of their installation. */
async function held(): Promise<{ runs: number[]; instances: Set<string> }> {
  const rows = await lines("ps", "--all", "--format", '{{.Label "quayside.user"}} {{.Label "quayside.run"}} {{.Label "quayside.instance"}}')
  const own = rows.map((row) => row.split(" ")).filter(([user]) => user?.startsWith(`k${process.pid}-`))
  return { runs: own.map(([, run]) => Number(run)).sort((a, b) => a - b), instances: new Set(own.map(([, , instance = ""]) => instance)) }
}

async function live(admin: Client) {
  const { data } = await admin.listRuns({ query: { pageSize: 200 } })
  return data.map(({ ID, State }) => ({ ID, State })).sort((a, b) => a.ID - b.ID)
}

function mountedBelow(directory: string): string[] {
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n")
  return mounts.filter((line) => line.split(" ")[4]?.startsWith(`${directory}/`))
}

/**
 * Resolves when engine and database agree and nothing is pending; returns the time that it took.
 */
async function settled(admin: Client, staging: string): Promise<number> {
  const startedAt = Date.now()
  let output = ""
  const agrees = async () => {
    const runs = await live(admin)
    const { runs: containers } = await held()
    const staged = [...(await readdir(staging)), ...mountedBelow(staging)]
    output = JSON.stringify({ runs, containers, staged })
    return runs.every(({ State }) => State === "ready") && String(runs.map(({ ID }) => ID)) === String(containers) && staged.length === 0
  }
  await eventually("engine and database agree", agrees, 60_000).catch((error: Error) => assert.fail(`${error.message}: ${output}`))
  return Date.now() - startedAt
}

async function make(server: ServerProcess, admin: Client, seed: number): Promise<KillTestClient[]> {
  const image = await admin.createImage({ body: { Name: "web", Image: "quayside/python-app", IsPublished: true } })
  const names = Array.from({ length: people }, (_, n) => ofPerson(n))
  for (const UserName of names) await admin.createUser({ body: { UserName, Password: server.password } })
  await admin.createGroup({ body: { GroupName: "all", Members: names } })
  return Promise.all(
    names.map((name, n) =>
      KillTestClient.make(server, {
        name,
        image: image.ID,
        random: seededRandom(100 * seed + n),
        others: names.filter((other) => other !== name),
      }),
    ),
  )
}

for (const seed of [7, 8, 9])
  test(`a server that is killed ${kills} times while ten people work, whole or its file server alone, loses nothing that it acknowledged, and the engine holds what it wants (${seed})`, async (t) => {
    let written = ""
    await using server = await startServerProcess(
      { QUAYSIDE_ENGINE: "docker", QUAYSIDE_CPU_OVERCOMMIT: "8", QUAYSIDE_MEMORY_OVERCOMMIT: "8" },
      (chunk) => {
        written += chunk
      },
    )
    const staging = join(server.directory, "data/mounts")
    const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
    const workers = await make(server, admin, seed)
    const random = seededRandom(seed)
    for (let kill = 1; kill <= kills; kill += 1) {
      const stop = new AbortController()
      const working = Promise.all(workers.map((worker) => worker.work(stop.signal)))
      // The test kills at a random moment.
      await Promise.race([sleep(random.below(4_000)), working])
      const files = random.once(3) ? workerPid(server.child.pid) : undefined
      if (files === undefined) await server.kill("SIGKILL")
      else process.kill(files, "SIGKILL")
      stop.abort()
      await working
      if (files === undefined) await server.start()
      const durationMs = await settled(admin, staging)
      for (const worker of workers) await worker.check()
      t.diagnostic(`${kill}: agreed after ${durationMs} ms; ${workers.reduce((sum, worker) => sum + worker.acknowledged, 0)} acknowledged`)
    }
    assert.deepEqual(
      written.split("\n").filter((line) => line.includes('"level":"error"') && !line.includes("the file server's process ended")),
      [],
    )
  })

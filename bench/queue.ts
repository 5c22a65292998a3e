// 300 starts within a minute by 30 people where 100 runs fit (fake engine): how many are refused,
// the order in which they become ready, and the response time of another person's GET meanwhile,
// compared with an idle server. Usage: queue.ts [STARTS] [SECONDS]
import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import { Worker } from "node:worker_threads"
import { basicAuth, bearerAuth, createClient } from "#client"
import { startServerProcess } from "../test/server-process.ts"
import type { Figures, Questions } from "./other-person.ts"

const starts = Number(process.argv[2] ?? 300)
const seconds = Number(process.argv[3] ?? 60)
const people = 30
/** Of the fake engine's 262,144 MiB: 100 runs. */
const memoryMiB = 2_621
/** How long each run is used: so that twice as many are wanted as fit. */
const usedMs = 40_000
const print = (line: string) => process.stdout.write(`${line}\n`)

await using server = await startServerProcess({ QUAYSIDE_ENGINE: "fake", QUAYSIDE_LOG_LEVEL: "error" })
const { baseUrl } = server
const withToken = async (userName: string, password: string) => {
  const { Token } = await createClient({ baseUrl, authorization: basicAuth(userName, password) }).createToken({ body: { Name: "bench" } })
  return { headers: { authorization: bearerAuth(Token) }, client: createClient({ baseUrl, authorization: bearerAuth(Token) }) }
}
const admin = await withToken("admin", server.password)
const { ID: ImageID } = await admin.client.createImage({ body: { Name: "web", Image: "fake/http" } })
await admin.client.updateImage({ body: { ID: ImageID, IsPublished: true } })
const asked = []
for (let person = 0; person < people; person += 1) {
  const UserName = `person${person}`
  await admin.client.createUser({ body: { UserName, Password: "a password for benchmarks" } })
  const { client } = await withToken(UserName, "a password for benchmarks")
  for (let n = 0; n < starts / people; n += 1) {
    const { ID: ProjectID } = await client.createProject({ body: { ProjectName: `p${n}`, Type: "http", ImageID } })
    asked.push({ client, ProjectID, turn: n * people + person })
  }
}
asked.sort((a, b) => a.turn - b.turn)

async function otherPerson(forSeconds: number): Promise<Figures> {
  const workerData: Questions = { url: `${baseUrl}/images`, method: "GET", headers: admin.headers, seconds: forSeconds }
  const [figures] = await once(new Worker(new URL("./other-person.ts", import.meta.url), { workerData }), "message")
  return figures as Figures
}

await otherPerson(5)
const idle = await otherPerson(20)
const meanwhile = otherPerson(seconds)
const refused: unknown[] = []
const ready: number[] = []
let waited = 0
await Promise.all(
  asked.map(async ({ client, ProjectID }, i) => {
    await sleep((i * seconds * 1_000) / starts)
    try {
      const { ID, State } = await client.startRun({ body: { ProjectID, Memory: memoryMiB }, headers: { prefer: "respond-async" } })
      if (State === "queued") waited += 1
      while ((await client.readRun({ query: { ID } })).State !== "ready") await sleep(500)
      ready.push(i)
      await sleep(usedMs)
      await client.stopRun({ query: { ID } })
    } catch (error) {
      refused.push(error)
    }
  }),
)
const busy = await meanwhile
const overtaken = ready.map((turn, place) => ready.slice(0, place).filter((other) => other > turn).length)
print(`${starts} starts in ${seconds} s where 100 fit: ${refused.length} refused, ${waited} waited (needed: none refused)`)
if (refused.length > 0) print(String(refused[0]))
print(`a run became ready before ${Math.max(...overtaken)} at most that were asked for earlier`)
print(
  `another person's GET, 95th percentile: ${busy.p95.toFixed(1)} ms; idle ${idle.p95.toFixed(1)} ms; ratio ${(busy.p95 / idle.p95).toFixed(2)} (needed ≤ 1.5)`,
)

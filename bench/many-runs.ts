// 200 runs of one person with a tiny image: the rate of starts as their number grows, and the time
// until everything works again after `kill -9`. Usage: many-runs.ts [RUNS]
import { spawn } from "node:child_process"
import { basicAuth, bearerAuth, createClient } from "#client"
import { ensureBusyboxImage } from "../test/fixtures/docker/busybox.ts"
import { startServerProcess } from "../test/server-process.ts"
import { forAll } from "./tools.ts"

const count = Number(process.argv[2] ?? 200)
const together = 4
const first = 20
const print = (line: string) => process.stdout.write(`${line}\n`)
const seconds = (startedAt: number) => ((performance.now() - startedAt) / 1_000).toFixed(2)

const image = await ensureBusyboxImage()
const output: string[] = []
await using server = await startServerProcess(
  {
    QUAYSIDE_LOG_LEVEL: "warn",
    QUAYSIDE_CPU_OVERCOMMIT: "1000",
    QUAYSIDE_MEMORY_OVERCOMMIT: "100",
    QUAYSIDE_ACCESS_LOG: "off",
  },
  (chunk) => output.push(chunk.toString()),
)
const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
const { Token } = await admin.createToken({ body: { Name: "bench" } })
const headers = { authorization: bearerAuth(Token) }
const client = createClient({ baseUrl: server.baseUrl, authorization: headers.authorization })
const Command = JSON.stringify(["sh", "-c", "exec httpd -f -p 8080 -h /www"])
const { ID: ImageID } = await client.createImage({ body: { Name: "tiny", Image: image, Command, Port: "8080" } })
const projects: number[] = []
for (let n = 0; n < count; n += 1) {
  const { ID } = await client.createProject({ body: { ProjectName: `bench-${n}`, Type: "http", ImageID } })
  projects.push(ID)
}

const urls: string[] = []
const ended: number[] = []
const failures: unknown[] = []
const beganAt = performance.now()
await forAll(projects, together, async (ProjectID) => {
  try {
    urls.push((await client.startRun({ body: { ProjectID, Memory: 64 } })).URL)
    ended.push(performance.now() - beganAt)
  } catch (error) {
    failures.push(error)
  }
})
const rate = (from: number, to: number) => ((to - from) / ((ended[to - 1] ?? 0) - (ended[from - 1] ?? 0))) * 1_000
const [early, all] = [rate(0, first), rate(0, ended.length)]
print(
  `${ended.length} starts, ${together} at once: ${all.toFixed(2)} a second, the first ${first} ${early.toFixed(2)}; ${failures.length} failed (needed 0)`,
)
for (const failure of failures.slice(0, 3)) print(`  ${failure}`)
for (let from = 0; from + 40 <= ended.length; from += 40)
  print(`  starts ${from + 1} to ${from + 40}: ${rate(from, from + 40).toFixed(2)} a second`)
print(`rate of all to that of the first ${first}: ${(all / early).toFixed(2)} (needed ≥ 0.9)`)
print(`logged as interrupted starts: ${output.join("").split("interrupted start").length - 1} (needed 0)`)

async function isListed(): Promise<boolean> {
  const listed = await client.listRuns({ query: { State: "ready", pageSize: 200 } }).catch(() => undefined)
  return listed?.data.length === urls.length
}

async function answersAll(): Promise<void> {
  await forAll(urls, 16, async (url) => {
    const path = new URL(url).pathname
    for (;;) {
      const status = await fetch(new URL(path, server.appsUrl), { headers }).then(
        async (response) => {
          await response.body?.cancel()
          return response.status
        },
        () => 0,
      )
      if (status === 200) return
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })
}

async function killed(needed: string): Promise<void> {
  await server.kill("SIGKILL")
  const killedAt = performance.now()
  await server.start()
  const ready = seconds(killedAt)
  while (!(await isListed())) await new Promise((resolve) => setTimeout(resolve, 50))
  const listed = seconds(killedAt)
  await answersAll()
  print(
    `after kill -9: ready line ${ready} s, true list ${listed} s, all ${urls.length} URLs answer ${seconds(killedAt)} s (needed ≤ ${needed})`,
  )
}

await answersAll()
await killed("2, 3, 5")
await killed("2, 3, 5")
const loops = [0, 1].map(() => spawn(process.execPath, ["-e", "for (;;) {}"], { stdio: "ignore" }))
try {
  print("beside two busy loops:")
  await killed("4, 6, 10")
} finally {
  for (const loop of loops) loop.kill("SIGKILL")
}
const stopping = performance.now()
const live = async () => (await client.listRuns({ query: { pageSize: 200 } })).data
let stops = 0
for (let data = await live(); data.length > 0; data = await live()) {
  stops += data.length
  // A run that a busy machine starts too late is stopped again.
  await forAll(data, 16, async ({ ID }) => void (await client.stopRun({ query: { ID } }).catch(() => {})))
}
print(`${stops} stops, 16 at once: ${seconds(stopping)} s`)

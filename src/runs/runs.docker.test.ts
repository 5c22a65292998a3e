import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { RunRow } from "#store"
import { buildImage } from "../../test/fixtures/docker/built-image.ts"
import { ensureBusyboxImage } from "../../test/fixtures/docker/busybox.ts"
import type { Runs } from "./index.ts"
import { DockerFixture } from "./testing/docker-fixture.ts"
import { eventually, RunsFixture } from "./testing/runs-fixture.ts"

const settings = {
  graceMs: 2_000,
  observeEveryMs: 1_000,
  timeoutsMs: { pulling: 60_000, creating: 30_000, starting: 60_000, stopping: 20_000 },
}

let docker: DockerFixture
let fixture: RunsFixture
let runs: Runs
before(async () => {
  docker = await DockerFixture.open()
  fixture = await RunsFixture.open({ settings: { ...settings, logsDir: docker.logsDir } })
  runs = await fixture.runs({ engine: await docker.engine() })
})
after(async () => {
  await runs.close()
  await docker[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

const http = (command: string[] | null = null) => fixture.request("quayside/python-app", { memoryMiB: 256, plan: docker.plan({ command }) })

async function ready(request: ReturnType<typeof http>): Promise<RunRow> {
  const run = await runs.waitUntilSettled((await runs.start(request)).id)
  assert.equal(run.state, "ready", JSON.stringify(run.reason))
  return run
}

function fetchFrom(run: RunRow, path: string, headers: Record<string, string> = {}): Promise<Response> {
  const address = runs.target(run.id)?.address
  return fetch(`http://${address?.host}:${address?.port}${path}`, { headers, redirect: "manual" })
}

test("a program is ready when it answers, and its container is removed by a stop", async () => {
  const run = await ready(http())
  assert.equal((await fetchFrom(run, "/")).status, 200)
  assert.match(run.imageDigest, /^sha256:/)
  await runs.stop(run.id, { by: "stopped_by_user" })
  assert.equal(await docker.containerOf(run.key), "")
})

for (const type of ["jupyterlab", "jupyter"] as const) {
  test(`JupyterLab as ${type} uses its base path and rejects requests without the token, which is in no argument`, async () => {
    const plan = docker.plan({ type })
    const run = await ready(fixture.request("quayside/jupyterlab", { memoryMiB: 1_024, plan }))
    const target = runs.target(run.id)
    assert.equal((await fetchFrom(run, `/run/${run.id}/api/contents`)).status, 403)
    assert.equal((await fetchFrom(run, `/run/${run.id}/api/contents`, target?.upstreamHeaders)).status, 200)
    const landing = await fetchFrom(run, `/run/${run.id}/${target?.landing}`, target?.upstreamHeaders)
    assert.ok(landing.status === 200 || landing.headers.get("location") === `/run/${run.id}/lab?`, `${landing.status}`)
    const container = await docker.containerOf(run.key)
    const started = await docker.docker("inspect", "--format", "{{json .Path}} {{json .Args}}", container)
    assert.ok(!started.includes(plan.secret ?? "?"))
    await runs.stop(run.id, { by: "stopped_by_user" })
  })
}

test("an ordinary web image starts in its working directory and is reached at its exposed port", async () => {
  await using image = await buildImage(`FROM ${await ensureBusyboxImage()}
WORKDIR /app
RUN echo 'the app' > index.html
EXPOSE 8501
CMD ["httpd", "-f", "-p", "8501"]`)
  const run = await ready(fixture.request(image.name, { memoryMiB: 64, plan: docker.plan({ workDir: "/work/code" }) }))
  assert.equal(await (await fetchFrom(run, "/index.html")).text(), "the app\n")
  assert.equal(run.spec.port, 8501)
  await runs.stop(run.id, { by: "stopped_by_user" })
})

for (const [address, hint] of [
  ["0.0.0.0:3000", /the program listens on port 3000; the project expects 8000$/],
  ["127.0.0.1:8000", /listens on port 8000 of 127\.0\.0\.1 only; it must listen on 0\.0\.0\.0$/],
] as const) {
  test(`the progress of a program that listens on ${address} says so`, async () => {
    const command = ["httpd", "-f", "-p", address]
    const run = await runs.start(fixture.request(await ensureBusyboxImage(), { memoryMiB: 64, plan: docker.plan({ command, port: 8000 }) }))
    await eventually("the progress says it", async () => hint.test(runs.progress(run.id)?.step ?? ""), 60_000)
    await runs.stop(run.id, { by: "stopped_by_user" })
  })
}

test("a program that exits early leaves its exit code and output", async () => {
  const run = await runs.waitUntilSettled((await runs.start(http(["sh", "-c", "echo cannot work >&2; exit 7"]))).id)
  assert.deepEqual([run.state, run.reason?.code, run.reason?.exitCode, run.reason?.logTail], ["failed", "exited", 7, "cannot work"])
})

test("output is stored after the end, the very last lines included", async () => {
  const script = "trap 'echo bye; exit 0' TERM; python3 -m http.server 8000 & echo hello; wait"
  const run = await ready(http(["bash", "-c", script]))
  await runs.stop(run.id, { by: "stopped_by_user" })
  const texts = (await Array.fromAsync(runs.logs(await fixture.row(run.id)))).map(({ text }) => text)
  assert.equal(texts[0], "hello")
  assert.ok(texts.includes("bye"))
})

test("a program that exceeds its memory ends with `oom_killed`", async () => {
  const run = await runs.waitUntilSettled((await runs.start(http(["sh", "-c", "tail /dev/zero"]))).id)
  assert.deepEqual([run.state, run.reason?.code], ["failed", "oom_killed"])
})

test("a removed container makes the run `lost`, and a killed one `exited`", async () => {
  const lost = await ready(http())
  await docker.docker("rm", "--force", await docker.containerOf(lost.key))
  await eventually("the run has ended", async () => (await fixture.row(lost.id)).state === "ended")
  // The end and the removal are two events: what is seen in between is a program that was killed.
  assert.match((await fixture.row(lost.id)).reason?.code ?? "", /^(lost|exited)$/)
  const killed = await ready(http())
  await docker.docker("kill", await docker.containerOf(killed.key))
  await eventually("the run has ended", async () => (await fixture.row(killed.id)).state === "ended")
  const { reason } = await fixture.row(killed.id)
  assert.deepEqual([reason?.code, reason?.exitCode], ["exited", 137])
})

test("the next process reaches a run that an earlier one started", async () => {
  const run = await ready(http())
  const reached = () => [runs.target(run.id)?.address?.host, runs.target(run.id)?.address?.port]
  const before = reached()
  await runs.close()
  runs = await fixture.runs({ engine: await docker.engine() })
  await eventually("its address is known", () => runs.target(run.id)?.address !== undefined)
  assert.deepEqual(reached(), before)
  await runs.stop(run.id, { by: "stopped_by_user" })
})

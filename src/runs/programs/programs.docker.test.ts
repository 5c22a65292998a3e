import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import type { RunPlan, RunRow } from "#store"
import { buildImage } from "../../../test/fixtures/docker/built-image.ts"
import { ensureBusyboxImage } from "../../../test/fixtures/docker/busybox.ts"
import type { Runs } from "../index.ts"
import { DockerFixture } from "../testing/docker-fixture.ts"
import { RunsFixture } from "../testing/runs-fixture.ts"

const settings = {
  graceMs: 1_000,
  observeEveryMs: 1_000,
  timeoutsMs: { pulling: 60_000, creating: 30_000, starting: 60_000, stopping: 20_000 },
}

let docker: DockerFixture
let fixture: RunsFixture
let runs: Runs
let busybox: string
before(async () => {
  docker = await DockerFixture.open()
  fixture = await RunsFixture.open({ people: maxStarts, settings: { ...settings, logsDir: docker.logsDir } })
  runs = await fixture.runs({ engine: await docker.engine() })
  busybox = await ensureBusyboxImage()
})
after(async () => {
  await runs.close()
  await docker[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

/** Each is by another person, since a person has one run of a project. */
const maxStarts = 30
let starts = 0

/** The run of an image with these lines after `FROM`, when its start has succeeded or failed. */
async function start(dockerfile: string, plan: Partial<RunPlan>, memoryMiB = 128): Promise<RunRow> {
  await using image = await buildImage(dockerfile)
  const request = fixture.request(image.name, { person: starts++, memoryMiB, plan: docker.plan(plan) })
  const run = await runs.waitUntilSettled((await runs.start(request)).id)
  return run
}

async function textOf(run: RunRow, path: string): Promise<string> {
  const target = runs.target(run.id)
  const answer = await fetch(`http://${target?.address?.host}:${target?.address?.port}${path}`, { headers: target?.upstreamHeaders ?? {} })
  return answer.text()
}

async function fetchAndStop(run: RunRow, path: string): Promise<string> {
  assert.equal(run.state, "ready", JSON.stringify(run.reason))
  const text = await textOf(run, path)
  await runs.stop(run.id, { by: "stopped_by_user" })
  return text
}

/** A shell script that serves these files below its program's base; `$base` ends with a slash. */
function serving(files: Readonly<Record<string, string>>, port: number): string {
  const lines = [
    "#!/bin/sh",
    "base=/",
    `for a in "$@";do case $a in *base_url=*) base=\${a#*base_url=};;esac;done`,
    "mkdir -p /tmp/www$base;cd /tmp/www$base",
    ...Object.entries(files).map(([name, text]) => `echo "${text}" >${name}`),
    `exec httpd -f -p ${port} -h /tmp/www`,
  ]
  return lines.map((line) => `'${line.replaceAll("'", `'\\''`)}'`).join(" ")
}

const scriptAt = (path: string, script: string) =>
  `RUN mkdir -p $(echo ${path} | sed 's,/[^/]*$,,') && printf '%s\\n' ${script} >${path} && chmod 755 ${path}`

describe("Programs of images that nobody made for Quayside", { concurrency: 3 }, () => {
  test("Jupyter of a docker-stacks layout starts: user jovyan of group 100, a prefix at /opt/conda and a start script", async () => {
    const run = await start(
      `FROM quayside/jupyterlab
USER root
RUN ln -s /opt/venv /opt/conda && groupmod -g 1001 user && usermod -l jovyan -g 100 -d /home/jovyan -m user && \\
  printf '#!/bin/sh\\nexit 9\\n' >/usr/local/bin/start-notebook.sh && chmod 755 /usr/local/bin/start-notebook.sh
ENV PATH=/opt/conda/bin:/usr/local/bin:/usr/bin:/bin CONDA_DIR=/opt/conda NB_USER=jovyan NB_UID=1000 NB_GID=100 HOME=/home/jovyan
USER 1000
WORKDIR /home/jovyan
ENTRYPOINT ["/usr/local/bin/start-notebook.sh"]
CMD []`,
      { type: "jupyter" },
      1_024,
    )
    assert.match(await fetchAndStop(run, `/run/${run.id}/api/status`), /"kernels"/)
  })

  test("a module that no script starts is started by Python", async () => {
    const dockerfile = "FROM quayside/jupyterlab\nUSER root\nRUN rm /opt/venv/bin/jupyter*\nENV PATH=/usr/bin:/bin"
    const run = await start(dockerfile, { type: "jupyterlab" }, 1_024)
    assert.match(await fetchAndStop(run, `/run/${run.id}/api/status`), /"kernels"/)
  })

  test("a program outside the `PATH` is found in conda's directory, which then begins its `PATH`", async () => {
    const script = serving({ api: "$PATH" }, 8888)
    const run = await start(`FROM ${busybox}\n${scriptAt("/opt/conda/bin/jupyter-lab", script)}`, { type: "jupyter" })
    assert.match(await fetchAndStop(run, `/run/${run.id}/api`), /^\/opt\/conda\/bin:/)
  })

  test("code-server is found where its packages install it, and the image's own entry point is not used", async () => {
    const script = serving({ healthz: "$0 $1" }, 8080)
    const run = await start(`FROM ${busybox}\n${scriptAt("/app/code-server/bin/code-server", script)}\nENTRYPOINT ["false"]\nCMD ["x"]`, {
      type: "vscode",
    })
    assert.equal(await fetchAndStop(run, "/healthz"), "/app/code-server/bin/code-server --auth=none\n")
  })

  test("the image's entry point starts with its command if the type's program is not found", async () => {
    const script = serving({ healthz: "$# $1 $2" }, 8080)
    const dockerfile = `FROM ${busybox}\n${scriptAt("/own/start", script)}\nENTRYPOINT ["/own/start"]\nCMD ["two words", "$b"]`
    assert.equal(await fetchAndStop(await start(dockerfile, { type: "vscode" }), "/healthz"), "2 two words $b\n")
  })

  test("the wrong type for an image fails at once and names programs and directories", async () => {
    const { reason } = await start(`FROM ${busybox}\nENV PATH=/bin:/sbin\nCMD ["sleep", "100"]`, { type: "jupyternotebook" })
    assert.equal(reason?.code, "command_not_found")
    assert.match(
      reason?.msg ?? "",
      /^The image has no program of type jupyternotebook: looked for jupyter-notebook, python3 -m notebook in the PATH \(\/bin:\/sbin\) and in \/opt\/conda\/bin, /,
    )
  })

  test("an image without a shell works as `http`, and as another type says that it has none", async () => {
    const dockerfile = `FROM scratch\nCOPY --from=${busybox} /bin/busybox /httpd\nCMD ["/httpd", "-f", "-p", "8000"]`
    assert.match(await fetchAndStop(await start(dockerfile, { type: "http" }), "/"), /404/)
    const { reason } = await start(dockerfile, { type: "vscode" })
    assert.equal(reason?.code, "command_not_found")
    assert.match(reason?.msg ?? "", /^The image has no shell \(\/bin\/sh\), with which the type vscode looks for code-server/)
  })

  test("an image that writes where only root may works by `WritablePaths`, and otherwise says what to change", async () => {
    const script = "'#!/bin/sh' 'echo log >/var/log/web/error.log || exit 1' 'cd /var/log/web' 'exec httpd -f -p 80'"
    const dockerfile = `FROM ${busybox}\nRUN mkdir -p /var/log/web\n${scriptAt("/own/start", script)}\nEXPOSE 80\nCMD ["/own/start"]`
    const { reason } = await start(dockerfile, { type: "http" })
    assert.equal(reason?.code, "exited")
    assert.match(reason?.msg ?? "", /exit code 1\. The program may not use \/var\/log\/web\/error\.log, since runs are never root$/)
    assert.match(reason?.hint ?? "", /^Ask an administrator to make it writable \(WritablePaths of the image\); see /)
    const marked = await start(dockerfile, { type: "http", writablePaths: ["/var/log/web"] })
    assert.equal(await fetchAndStop(marked, "/error.log"), "log\n")
  })

  test("`/` in `WritablePaths` makes the root file system writable, and runs are still not root", async () => {
    const script = `'#!/bin/sh' 'mkdir /tmp/www && cd /tmp/www' 'echo x >/open/file || exit 1' 'id -u >healthz' 'exec httpd -f -p 8080'`
    const dockerfile = `FROM ${busybox}\nRUN mkdir /open && chmod 777 /open\n${scriptAt("/own/start", script)}\nENTRYPOINT ["/own/start"]`
    const { reason } = await start(dockerfile, { type: "vscode" })
    assert.match(reason?.msg ?? "", /own entry point ran instead\. The program of the image \S+ ended by itself with exit code 1/)
    const marked = await start(dockerfile, { type: "vscode", writablePaths: ["/"] })
    assert.equal(await fetchAndStop(marked, "/healthz"), "1000\n")
  })

  const page = "RUN mkdir -p /srv/app && echo hello >/srv/app/page"
  const ordinary: Record<string, string> = {
    "a command in shell form, which listens at `PORT`": "WORKDIR /srv/app\nCMD httpd -f -p $PORT",
    "a user of another number than the files' owner": 'WORKDIR /srv/app\nUSER 1001\nCMD ["httpd", "-f", "-p", "8000"]',
    "a user by name": 'WORKDIR /srv/app\nUSER nobody:nogroup\nCMD ["httpd", "-f", "-p", "8000"]',
    "an init program as entry point":
      'RUN printf "#!/bin/sh\\nshift\\nexec \\"\\$@\\"\\n" >/bin/tini && chmod 755 /bin/tini\nWORKDIR /srv/app\nENTRYPOINT ["/bin/tini", "--"]\nCMD ["httpd", "-f", "-p", "8000"]',
    "a working directory relative to another one": 'WORKDIR /srv\nWORKDIR app\nCMD ["httpd", "-f", "-p", "8000"]',
    "several exposed ports, the usual one among them": 'WORKDIR /srv/app\nEXPOSE 9090 8000 9443/udp\nCMD ["httpd", "-f", "-p", "8000"]',
    "volumes, and a check of its health that fails":
      'WORKDIR /srv/app\nVOLUME /data /srv/cache\nHEALTHCHECK --interval=1s CMD false\nCMD ["httpd", "-f", "-p", "8000"]',
  }
  for (const [name, lines] of Object.entries(ordinary))
    test(`an ordinary image opens at the first try: ${name}`, async () => {
      const run = await start(`FROM ${busybox}\n${page}\n${lines}`, { type: "http" })
      assert.equal(await fetchAndStop(run, "/page"), "hello\n")
    })
})

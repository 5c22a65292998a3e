import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { docker, startConfined, waitForAnswer } from "./sample-containers.ts"
import { assertPackagesWork } from "./sample-packages.ts"

const run = promisify(execFile)
for (const name of ["python-app", "jupyterlab"]) {
  const image = `quayside/${name}:latest`

  test(`${image} holds nothing of the host that built it`, async () => {
    const bundle = "/etc/ssl/certs/ca-certificates.crt"
    const hash = existsSync(bundle) ? createHash("sha256").update(readFileSync(bundle)).digest("hex") : "none"
    const search =
      "ls /host /installed /stamp; find / -xdev -type f \\( -name '*.crt' -o -name '*.pem' -o -name pip.conf \\) -exec sha256sum {} +"
    const { stdout, stderr } = await run("docker", ["run", "--rm", "--user", "0", "--entrypoint", "sh", image, "-c", search])
    assert.equal(stderr.match(/cannot access/g)?.length, 3, stderr)
    assert.ok(!stdout.includes(hash), stdout)
    assert.doesNotMatch(stdout, /pip\.conf/)
    assert.doesNotMatch(await docker("history", "--no-trunc", "--format", "{{.CreatedBy}}", image), /https?:\/\/|--build-arg|ARG /)
  })

  test(`${image} runs as a person with a home, not as root`, async () => {
    const words = await docker("run", "--rm", "--entrypoint", "sh", image, "-c", "id -u; whoami; cd && pwd && touch x && echo writable")
    assert.deepEqual(words.split("\n"), ["1000", "user", "/home/user", "writable"])
  })
}

test("python-app answers without root rights, without capabilities and on a read-only root, and echoes a request", async () => {
  await using there = await startConfined("quayside/python-app:latest", "--env", "PORT=9000")
  const url = `http://${there.address}:9000`
  assert.match(await (await waitForAnswer(url)).text(), /It runs/)
  const response = await fetch(`${url}/echo?x=1`, { method: "PUT", body: "hello", headers: { "x-tried": "yes" } })
  const echo = (await response.json()) as { method: string; path: string; body: string; headers: [string, string][] }
  assert.deepEqual([echo.method, echo.path, echo.body], ["PUT", "/echo?x=1", "hello"])
  assert.equal(new Map(echo.headers).get("x-tried"), "yes")
  const socket = new WebSocket(`ws://${there.address}:9000/ws`)
  const message = await new Promise((resolve, reject) => {
    socket.onopen = () => socket.send("to and fro")
    socket.onmessage = ({ data }) => resolve(data)
    socket.onerror = reject
  })
  socket.close()
  assert.equal(message, "to and fro")
})

for (const [image, program] of [
  ["jupyterlab", "jupyter-lab"],
  ["python-app", "start-app"],
] as const) {
  test(`terminals of ${image} have its PATH, and packages that pip installs survive a restart`, async () => {
    await assertPackagesWork(`quayside/${image}:latest`, program)
  })
}

test("jupyterlab starts without Quayside, confined as runs are, and asks for a token", async () => {
  await using there = await startConfined("quayside/jupyterlab:latest")
  assert.equal((await waitForAnswer(`http://${there.address}:8888/api`)).status, 200)
  assert.equal((await fetch(`http://${there.address}:8888/api/contents`)).status, 403)
})

test("an image is built again if its files or those below it changed, but not for its README", async () => {
  const root = await mkdtemp(join(tmpdir(), "quayside-images-"))
  const [below, above] = ["below", "above"].map((name) => `stale-${name}-${process.pid}`) as [string, string]
  const write = (name: string, file: string, text: string) => writeFile(join(root, "images", name, file), text)
  const lib = new URL("../../script/lib/", import.meta.url).pathname
  const build = async () => {
    const parts = ["common", "apt", "docker", "host", "images"].map((part) => `. ${lib}${part}.sh`)
    const steps = [...parts, `root=${root} cache=${root}`, `need_image ${above}`]
    const { stdout } = await run("bash", ["-c", steps.join("\n")])
    return [...stdout.matchAll(/^Building quayside\/stale-(\w+)/gm)].map(([, name]) => name)
  }
  try {
    for (const name of [below, above]) await mkdir(join(root, "images", name), { recursive: true })
    await write(below, "file", "1")
    await write(below, "Dockerfile", "FROM scratch\nCOPY file /\n")
    await write(above, "Dockerfile", `FROM quayside/${below}\nCOPY Dockerfile /\n`)
    assert.deepEqual(await build(), ["below", "above"])
    assert.deepEqual(await build(), [])
    await write(above, "README.md", "A text.")
    assert.deepEqual(await build(), [])
    await write(below, "file", "2")
    assert.deepEqual(await build(), ["below", "above"])
  } finally {
    await docker("image", "rm", "--force", `quayside/${above}`, `quayside/${below}`)
    await rm(root, { recursive: true })
  }
})

test("a name that is no sample's is rejected with those that are", async () => {
  const script = new URL("../../script/images", import.meta.url).pathname
  const { stderr } = await run(script, ["vscod"]).catch((error: { code: number; stderr: string }) => error)
  assert.match(stderr, /^There is no sample vscod\. The samples are: desktop jupyterlab notebook python-app vscode\.\nUsage: /)
})

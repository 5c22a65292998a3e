import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { assertPackagesWork } from "./sample-packages.ts"

const run = promisify(execFile)
const docker = async (...words: string[]) => (await run("docker", words, { maxBuffer: 1 << 26 })).stdout.trim()

interface Container extends AsyncDisposable {
  readonly address: string
}

/** A container of the image, without arguments from the test. */
async function started(image: string, ...options: string[]): Promise<Container> {
  const id = await docker("run", "--detach", "--init", ...options, image)
  const address = await docker("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", id)
  return { address, [Symbol.asyncDispose]: async () => void (await docker("rm", "--force", id)) }
}

async function answer(url: string): Promise<Response> {
  const deadline = AbortSignal.timeout(60_000)
  for (;;) {
    const response = await fetch(url, { signal: deadline }).catch(() => undefined)
    if (response) return response
    await sleep(50, undefined, { signal: deadline })
  }
}

for (const name of ["http-sample", "jupyterlab"]) {
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

test("http-sample answers without root rights, without capabilities and on a read-only root, and echoes a request", async () => {
  const bare = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--env", "PORT=9000"]
  await using there = await started("quayside/http-sample:latest", ...bare)
  const url = `http://${there.address}:9000`
  assert.match(await (await answer(url)).text(), /It runs/)
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

test("terminals of jupyterlab have its PATH, and packages that pip installs survive a restart", async () => {
  await assertPackagesWork("quayside/jupyterlab:latest", "jupyter-lab")
})

test("jupyterlab starts without Quayside and asks for a token", async () => {
  await using there = await started("quayside/jupyterlab:latest")
  assert.equal((await answer(`http://${there.address}:8888/api`)).status, 200)
  assert.equal((await fetch(`http://${there.address}:8888/api/contents`)).status, 403)
})

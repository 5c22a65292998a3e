import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { startConfined, waitForAnswer } from "./sample-containers.ts"
import { assertPackagesWork } from "./sample-packages.ts"

const run = promisify(execFile)
const script = fileURLToPath(new URL("../../script/images", import.meta.url))

for (const { image, program, port, path } of [
  { image: "notebook", program: "jupyter-notebook", port: 8888, path: "/api" },
  { image: "vscode", program: "code-server", port: 8080, path: "/healthz" },
  { image: "desktop", program: "desktop", port: 6080, path: "/vnc.html" },
]) {
  test(`terminals of ${image} have its PATH, and packages that pip installs survive a restart`, async () => {
    await run(script, [image])
    await assertPackagesWork(`quayside/${image}:latest`, program)
  })

  test(`${image} starts without root rights, without capabilities and on a read-only root`, async () => {
    await run(script, [image])
    await using container = await startConfined(`quayside/${image}:latest`)
    assert.equal((await waitForAnswer(`http://${container.address}:${port}${path}`)).status, 200)
  })
}

import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { openClusterNamespace } from "../fixtures/kubernetes/cluster-namespace.ts"
import { loadImage } from "../fixtures/kubernetes/loaded-image.ts"
import { createQuaysideAccount } from "../fixtures/kubernetes/quayside-account.ts"
import { startServerProcess } from "../server-process.ts"
import { freshContext, openBrowser, signIn } from "./browser.ts"
import { runSampleNotebook } from "./sample-notebook.ts"
import { shows, type } from "./terminal-page.ts"

const run = promisify(execFile)
const sample = fileURLToPath(new URL("../../script/sample.ts", import.meta.url))

test("on a cluster, the sample's JupyterLab reads the rows that were uploaded by WebDAV, and a terminal opens", {
  timeout: 300_000,
}, async () => {
  await loadImage("quayside/jupyterlab:latest")
  await using namespace = await openClusterNamespace()
  await using account = await createQuaysideAccount(namespace)
  await using server = await startServerProcess({
    KUBECONFIG: account.kubeconfig,
    QUAYSIDE_ENGINE: "kubernetes",
    QUAYSIDE_KUBERNETES_NAMESPACE: namespace.name,
    QUAYSIDE_KUBERNETES_VOLUME: "files",
    QUAYSIDE_FILES_DIR: namespace.filesRoot,
  })
  const passwordFile = join(server.directory, "data", "admin-password")
  const { stdout } = await run(process.execPath, [sample, server.baseUrl, server.filesUrl, passwordFile])
  const url = /^penguins\s+(\S+)$/m.exec(stdout)?.[1] ?? ""
  assert.match(url, /^http:\/\/localhost:\d+\/run\/\d+\/$/)

  await using browser = await openBrowser()
  const page = await (await freshContext(browser)).newPage()
  await page.goto(url)
  await signIn(page, server.password)
  await page.waitForURL(/\/lab/)
  await runSampleNotebook(page)
  await page.goto(`${server.baseUrl}/ui/runs/${/(\d+)\/$/.exec(url)?.[1]}?tab=terminal`)
  await shows(page, "admin@run-")
  await type(page, "echo from before; id -un")
  await shows(page, /id -un\s*from before\s*admin/)
})

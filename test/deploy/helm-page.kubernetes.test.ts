import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { freshContext, openBrowser, signIn } from "../e2e/browser.ts"
import { runSampleNotebook } from "../e2e/sample-notebook.ts"
import { eventually } from "../fixtures/eventually.ts"
import { freePorts } from "../fixtures/free-ports.ts"
import { kubectl, openClusterNamespace } from "../fixtures/kubernetes/cluster-namespace.ts"
import { database, openService } from "../fixtures/kubernetes/cluster-services.ts"
import { loadImage } from "../fixtures/kubernetes/loaded-image.ts"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../../", import.meta.url))
const inShell = (commands: string) => run("bash", ["-euo", "pipefail", "-c", commands], { cwd: root })

test("kubernetes.md: its Helm commands lead to a JupyterLab that reads a dataset uploaded by WebDAV", { timeout: 600_000 }, async () => {
  for (const name of ["quayside", "quayside-test/postgres", "quayside/jupyterlab"]) await loadImage(`${name}:latest`)
  await using _volume = await openSharedVolume("quayside-page")
  await using elsewhere = await openClusterNamespace("baseline")
  await elsewhere.kubectl(["apply", "-f", "-"], database)
  const [base, apps, files] = (await freePorts(3)) as [number, number, number]
  const urls = { base: `http://localhost:${base}`, apps: `http://localhost:${apps}`, files: `http://localhost:${files}` }
  const commands = replaceAll(await helmCommands(), {
    "REGISTRY/quayside": "quayside",
    CLASS: "quayside-page",
    "postgres://quayside:PASSWORD@postgres.example.com/quayside": `postgres://postgres@database.${elsewhere.name}/postgres`,
    "https://quayside.example.com": urls.base,
    "https://apps.example.com": urls.apps,
    "https://files.example.com": urls.files,
  })
  const folder = await mkdtemp(join(tmpdir(), "quayside-page-"))
  try {
    const { stdout: notes } = await inShell(`${commands.trim()} --timeout 240s --set image.tag=latest --set image.pullPolicy=Never`)
    const reading = /^ {2}(kubectl .*base64 -d)$/m.exec(notes)?.[1] ?? assert.fail(notes)
    const { stdout: password } = await inShell(reading)
    const namespace = { kubectl: (words: readonly string[]) => kubectl(["--namespace", "quayside", ...words]) }
    await using _api = await openService(namespace, "quayside-api", base)
    await using _apps = await openService(namespace, "quayside-apps", apps)
    await using _files = await openService(namespace, "quayside-files", files)
    const isReady = () =>
      fetch(`${urls.base}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
    await eventually("the services lead to processes that are ready", isReady, 120_000)
    await writeFile(join(folder, "password"), password, { mode: 0o600 })
    const { stdout } = await run(process.execPath, [join(root, "script/sample.ts"), urls.base, urls.files, join(folder, "password")])
    const url = /^penguins\s+(\S+)$/m.exec(stdout)?.[1] ?? assert.fail(stdout)
    await using browser = await openBrowser()
    const page = await (await freshContext(browser)).newPage()
    await page.goto(url)
    await signIn(page, password)
    await page.waitForURL(/\/lab/)
    await runSampleNotebook(page)
  } finally {
    await run("helm", ["uninstall", "quayside", "--namespace", "quayside", "--ignore-not-found"])
    await kubectl(["delete", "namespace", "quayside", "--ignore-not-found"])
    await rm(folder, { recursive: true })
  }
})

async function helmCommands(): Promise<string> {
  const text = await readFile(join(root, "docs/how-to/kubernetes.md"), "utf8")
  return /^```console\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? assert.fail("The page has no block of commands")
}

/** The reader's own words for those of the page, each of which it must have. */
function replaceAll(text: string, words: Readonly<Record<string, string>>): string {
  return Object.entries(words).reduce((now, [word, own]) => {
    assert.ok(now.includes(word), `The page does not name ${word}`)
    return now.replaceAll(word, own)
  }, text)
}

/** A directory of this machine, the only node, as a volume of that storage class. */
async function openSharedVolume(storageClassName: string): Promise<AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "quayside-kubernetes-"))
  const spec = { capacity: { storage: "100Gi" }, accessModes: ["ReadWriteMany"], hostPath: { path }, storageClassName }
  await kubectl(["apply", "-f", "-"], { apiVersion: "v1", kind: "PersistentVolume", metadata: { name: storageClassName }, spec })
  return {
    async [Symbol.asyncDispose]() {
      await kubectl(["delete", "persistentvolume", storageClassName])
      await rm(path, { recursive: true })
    },
  }
}

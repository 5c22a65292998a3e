import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { basicAuth, createClient } from "#client"
import { ensureBusyboxImage } from "../fixtures/docker/busybox.ts"
import { loadCopy } from "../fixtures/kubernetes/loaded-image.ts"
import { startServerProcess } from "../server-process.ts"
import { runSteps, stepsOf } from "./page.ts"

const kubectl = (...words: string[]) => promisify(execFile)("kubectl", words)
const root = new URL("../../", import.meta.url)
const page = new URL("docs/how-to/kubernetes.md", root)

/** The directory of the test cluster's kubelet. */
const kubelet = join(process.env.CLUSTER_CONTAINERD ?? "", "../../kubelet")

test("kubernetes.md: its commands and settings lead to a run on the cluster", { timeout: 200_000 }, async () => {
  const image = await loadCopy(await ensureBusyboxImage())
  const folder = await mkdtemp(join(tmpdir(), "quayside-page-"))
  await chmod(folder, 0o755)
  await mkdir(join(folder, "deploy/kubernetes"), { recursive: true })
  for (const name of ["one-node.yaml", "access.yaml"])
    await copyFile(new URL(`deploy/kubernetes/${name}`, root), join(folder, "deploy/kubernetes", name))
  const volume = join(folder, "deploy/kubernetes/one-node.yaml")
  await writeFile(volume, (await readFile(volume, "utf8")).replace("/srv/quayside", folder))
  const profile = "src/engine/docker/containers/seccomp.json"
  await mkdir(dirname(join(folder, profile)), { recursive: true })
  await copyFile(new URL(profile, root), join(folder, profile))
  const here = (text: string) => text.replace("/srv/quayside", folder).replace("/var/lib/kubelet", kubelet)
  try {
    const steps = (await stepsOf(page)).map((step) => ({ ...step, commands: here(step.commands) }))
    await runSteps(steps, { cwd: folder, env: {} })
    const blocks = [...(await readFile(page, "utf8")).matchAll(/^```bash\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block)
    const used = [blocks[0], blocks.find((block) => block.includes("QUAYSIDE_KUBERNETES_SECCOMP"))].join("")
    const given = Object.fromEntries([...used.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, here(value)]))
    assert.equal(given.QUAYSIDE_KUBERNETES_SECCOMP, "quayside.json")
    await using server = await startServerProcess({ ...given, KUBECONFIG: join(folder, given.KUBECONFIG ?? "") })
    const authorization = basicAuth("admin", server.password)
    assert.equal((await fetch(`${server.baseUrl}/readyz`)).status, 200)
    const client = createClient({ baseUrl: server.baseUrl, authorization })
    const { ID: ImageID } = await client.createImage({
      body: { Name: "page", Image: image, Command: "httpd -f -p 8000 -h /www", Port: "8000" },
    })
    const { ID: ProjectID } = await client.createProject({ body: { ProjectName: "page", Type: "http", ImageID } })
    const run = await client.startRun({ body: { ProjectID, Memory: 64 } })
    assert.equal(run.State, "ready", JSON.stringify(run.Reason))
    assert.equal(await (await fetch(run.URL, { headers: { authorization } })).text(), "hello from busybox\n")
    const failed = await client.startRun({ body: { ProjectID, Memory: 64, Nodes: 2 } }).catch(({ code }: { code: string }) => code)
    assert.equal(failed, "already_running")
  } finally {
    await kubectl("delete", "namespace", "quayside-runs", "--ignore-not-found")
    await kubectl("delete", "persistentvolume", "quayside-runs-files", "--ignore-not-found")
    await kubectl("delete", "clusterrole,clusterrolebinding", "quayside-runs", "--ignore-not-found")
    await rm(folder, { recursive: true })
  }
})

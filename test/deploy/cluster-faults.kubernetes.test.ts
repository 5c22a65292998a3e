import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { suite, test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { basicAuth, type Client, createClient } from "#client"
import { ensureBusyboxImage } from "../fixtures/docker/busybox.ts"
import { eventually } from "../fixtures/eventually.ts"
import { type ClusterNamespace, openClusterNamespace } from "../fixtures/kubernetes/cluster-namespace.ts"
import { loadCopy } from "../fixtures/kubernetes/loaded-image.ts"
import { createQuaysideAccount } from "../fixtures/kubernetes/quayside-account.ts"
import { startServerProcess } from "../server-process.ts"

const program = fileURLToPath(new URL("../../script/cluster", import.meta.url))
const cluster = (...words: string[]) => promisify(execFile)(program, words)
const faultMs = 120_000

/** Only the cluster of `script/cluster` can be broken. */
const skip = process.env.CLUSTER_CONTAINERD ? false : "the cluster of KUBECONFIG is not one that tests may break"

suite("a server whose cluster breaks", { skip }, () => {
  test("after the cluster's database was restored from an older copy, nothing is lost, doubled or left over", async () => {
    await using rig = await openServer()
    const { client, namespace, start } = rig
    const kept = await start("kept")
    const stopped = await start("stopped")
    const state = async (ID: number) => (await client.readRun({ query: { ID } })).State
    await cluster("save")
    // The kubelet may take a minute to find the API server again. It has, once it starts a pod.
    const late = await start("late")
    await client.stopRun({ query: { ID: stopped } })
    assert.equal(await state(stopped), "ended")
    await cluster("restore")
    await eventually("the end of the run that the copy did not have is known", async () => (await state(late)) === "ended", faultMs)
    assert.equal((await client.readRun({ query: { ID: late } })).Reason?.code, "lost")
    const podsOf = async () => (await namespace.kubectl(["get", "pods", "--output", "name"])).split("\n").filter(Boolean)
    await eventually("the pod of the stopped run is removed again", async () => (await podsOf()).length === 1, faultMs)
    assert.deepEqual([await state(kept), await state(stopped)], ["ready", "ended"])
    assert.equal(await rig.read(kept), "hello from busybox\n")
    await client.stopRun({ query: { ID: await start("next") } })
  })

  test("while a node's kubelet is stopped its runs go on, and a stop waits until it confirms the end", async () => {
    await using rig = await openServer()
    const { client, namespace, start } = rig
    const run = await start("kept")
    await cluster("pause", "kubelet")
    try {
      const isReady = ["get", "nodes", "--output", "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}"]
      await eventually("the cluster misses the node", async () => !(await namespace.kubectl(isReady)).includes("True"), faultMs)
      assert.equal(await rig.read(run), "hello from busybox\n")
      assert.equal((await client.readRun({ query: { ID: run } })).State, "ready")
      const stopping = client.stopRun({ query: { ID: run } }).catch(({ code }: { code: string }) => code)
      await eventually("it is being stopped", async () => (await client.readRun({ query: { ID: run } })).State === "stopping")
      await cluster("resume", "kubelet")
      await stopping
      await eventually("it has ended", async () => (await client.readRun({ query: { ID: run } })).State === "ended", faultMs)
    } finally {
      await cluster("resume", "kubelet")
    }
    assert.equal(await namespace.kubectl(["get", "pods", "--output", "name"]), "")
  })
})

interface ServerOnCluster extends AsyncDisposable {
  client: Client
  namespace: ClusterNamespace
  /** Starts a project of a page with a greeting; resolves with its run once it is ready. */
  start(name: string): Promise<number>
  read(run: number): Promise<string>
}

async function openServer(): Promise<ServerOnCluster> {
  const stack = new AsyncDisposableStack()
  const Image = await loadCopy(await ensureBusyboxImage())
  const namespace = stack.use(await openClusterNamespace())
  const account = stack.use(await createQuaysideAccount(namespace))
  const server = stack.use(
    await startServerProcess({
      KUBECONFIG: account.kubeconfig,
      QUAYSIDE_ENGINE: "kubernetes",
      QUAYSIDE_KUBERNETES_NAMESPACE: namespace.name,
      QUAYSIDE_KUBERNETES_VOLUME: "files",
      QUAYSIDE_FILES_DIR: namespace.filesRoot,
      QUAYSIDE_LOG_LEVEL: "error",
    }),
  )
  const authorization = basicAuth("admin", server.password)
  const client = createClient({ baseUrl: server.baseUrl, authorization })
  const Command = "httpd -f -p 8000 -h /www"
  const { ID: ImageID } = await client.createImage({ body: { Name: "page", Image, Command, Port: "8000" } })
  return {
    client,
    namespace,
    async start(ProjectName) {
      const { ID: ProjectID } = await client.createProject({ body: { ProjectName, Type: "http", ImageID } })
      const run = await client.startRun({ body: { ProjectID, Memory: 64 } })
      assert.equal(run.State, "ready", JSON.stringify(run.Reason))
      return run.ID
    },
    async read(ID) {
      const { URL } = await client.readRun({ query: { ID } })
      return (await fetch(URL, { headers: { authorization } })).text()
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

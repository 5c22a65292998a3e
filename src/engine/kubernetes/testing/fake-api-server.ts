import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { KubernetesObject } from "@kubernetes/client-node"
import { ClusterClient } from "../client/cluster-client.ts"

/** One collection of an API server: lists, watches from any version, and forgotten versions. */
export interface FakeApiServer extends AsyncDisposable {
  client: ClusterClient
  /** What was asked for, such as `watch /api/v1/namespaces/test/pods`; `first` is a list of one. */
  asked: string[]
  /** How many watches are open. */
  readonly watches: number
  /** Creates or changes an object. */
  set(object: KubernetesObject): void
  remove(name: string): void
  /** Ends all connections, and refuses new ones with 503 until `answer` is called. */
  fall(): void
  answer(): void
  /** Keeps a copy of everything, to which `restore` goes back. */
  save(): void
  restore(): void
  /** Forgets what happened until now: a watch from before ends as gone, as a status or an event says. */
  forget(how: "status" | "event"): void
}

interface Change {
  version: number
  type: "ADDED" | "MODIFIED" | "DELETED"
  object: KubernetesObject
}

export async function startFakeApiServer(): Promise<FakeApiServer> {
  const objects = new Map<string, KubernetesObject>()
  const watches = new Map<ServerResponse, number>()
  const asked: string[] = []
  let changes: Change[] = []
  let version = 1
  let oldest = 0
  let refusal: "status" | "event" = "event"
  let isDown = false
  let saved: { objects: [string, KubernetesObject][]; changes: Change[]; version: number } = { objects: [], changes: [], version }

  const send = (response: ServerResponse, type: string, object: object) => response.write(`${JSON.stringify({ type, object })}\n`)
  const change = (type: Change["type"], object: KubernetesObject) => {
    version += 1
    const versioned = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } }
    if (type === "DELETED") objects.delete(object.metadata?.name ?? "")
    else objects.set(object.metadata?.name ?? "", versioned)
    changes.push({ version, type, object: versioned })
    for (const [response, from] of watches) if (version > from) send(response, type, versioned)
  }
  const openWatch = (response: ServerResponse, from: number) => {
    response.flushHeaders()
    watches.set(response, from)
    response.on("close", () => watches.delete(response))
    for (const { version, type, object } of changes) if (version > from) send(response, type, object)
  }

  const endAsGone = (response: ServerResponse) => {
    send(response, "ERROR", { kind: "Status", code: 410, message: "too old resource version" })
    response.end()
  }

  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://fake")
    const isWatch = searchParams.has("watch")
    asked.push(`${isWatch ? "watch" : searchParams.get("limit") === "1" ? "first" : "list"} ${pathname}`)
    response.setHeader("content-type", "application/json")
    const from = Number(searchParams.get("resourceVersion") ?? 0)
    if (isDown) response.writeHead(503).end("{}")
    else if (!isWatch) response.end(JSON.stringify({ metadata: { resourceVersion: String(version) }, items: [...objects.values()] }))
    else if (from >= oldest) openWatch(response, from)
    else if (refusal === "status") response.writeHead(410).end("{}")
    else endAsGone(response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { client, folder } = await clientOf((server.address() as AddressInfo).port)
  return {
    client,
    asked,
    get watches() {
      return watches.size
    },
    set: (object) => change(objects.has(object.metadata?.name ?? "") ? "MODIFIED" : "ADDED", object),
    remove: (name) => change("DELETED", objects.get(name) ?? { metadata: { name } }),
    fall() {
      isDown = true
      server.closeAllConnections()
    },
    answer() {
      isDown = false
    },
    save() {
      saved = { objects: [...objects], changes: [...changes], version }
    },
    restore() {
      objects.clear()
      for (const [name, object] of saved.objects) objects.set(name, object)
      changes = saved.changes
      version = saved.version
    },
    forget(how) {
      version += 1
      oldest = version
      changes = []
      refusal = how
      for (const response of watches.keys()) endAsGone(response)
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true })
    },
  }
}

async function clientOf(port: number): Promise<{ client: ClusterClient; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "quayside-fake-cluster-"))
  const kubeconfig = join(folder, "kubeconfig")
  // The library sends nothing without TLS unless told that certificates do not matter.
  const config = {
    clusters: [{ name: "fake", cluster: { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true } }],
    users: [{ name: "fake", user: { token: "fake" } }],
    contexts: [{ name: "fake", context: { cluster: "fake", user: "fake", namespace: "test" } }],
    "current-context": "fake",
  }
  await writeFile(kubeconfig, JSON.stringify(config))
  return { client: await ClusterClient.create({ kubeconfig }), folder }
}

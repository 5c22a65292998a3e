import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { KubernetesObject } from "@kubernetes/client-node"
import { ClusterClient } from "../client/cluster-client.ts"

interface Change {
  version: number
  type: "ADDED" | "MODIFIED" | "DELETED"
  object: KubernetesObject
}

/** Starts an API server with one collection: lists, and watches from any version. */
export async function startFakeApiServer(): Promise<FakeApiServer> {
  const server = createServer((request, response) => fake.answer(request, response))
  server.on("connection", () => {
    fake.connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { client, folder } = await clientOf((server.address() as AddressInfo).port)
  const fake = new FakeApiServer(client, {
    cut: () => server.closeAllConnections(),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true })
    },
  })
  return fake
}

export class FakeApiServer implements AsyncDisposable {
  readonly client: ClusterClient
  /** The requests until now, such as `watch /api/v1/namespaces/test/pods`; `first` lists one. */
  readonly asked: string[] = []
  /** How many connections were opened until now. */
  connections = 0
  /** Requests that would change something, in order. Each waits until it is answered by this. */
  readonly changing: { method: string; answer: () => void }[] = []
  readonly #connections: { cut(): void; close(): Promise<void> }
  readonly #watches = new Map<ServerResponse, number>()
  #objects = new Map<string, KubernetesObject>()
  #changes: readonly Change[] = []
  #version = 1
  #oldest = 0
  #refusal: "status" | "event" = "event"
  #isDown = false
  #isForbidden = false
  #saved = { objects: this.#objects, changes: this.#changes, version: this.#version }

  constructor(client: ClusterClient, connections: { cut(): void; close(): Promise<void> }) {
    this.client = client
    this.#connections = connections
  }

  /** How many watches are open. */
  get watches(): number {
    return this.#watches.size
  }

  /** Creates or changes an object. */
  set(object: KubernetesObject): void {
    this.#change(this.#objects.has(object.metadata?.name ?? "") ? "MODIFIED" : "ADDED", object)
  }

  remove(name: string): void {
    this.#change("DELETED", this.#objects.get(name) ?? { metadata: { name } })
  }

  /** Ends all connections. */
  cut(): void {
    this.#connections.cut()
  }

  /** Ends all connections, and refuses new ones with 503 until `recover` is called. */
  fall(): void {
    this.#isDown = true
    this.cut()
  }

  recover(): void {
    this.#isDown = false
    this.#isForbidden = false
  }

  /** Ends all connections, and refuses all requests with 403 until `recover` is called. */
  forbid(): void {
    this.#isForbidden = true
    this.cut()
  }

  /** Keeps a copy of everything, to which `restore` goes back. */
  save(): void {
    this.#saved = { objects: new Map(this.#objects), changes: this.#changes, version: this.#version }
  }

  restore(): void {
    const { objects, changes, version } = this.#saved
    this.#objects = new Map(objects)
    this.#changes = changes
    this.#version = version
  }

  /** Forgets what happened until now: a watch from before is refused by a status or an event. */
  forget(how: "status" | "event"): void {
    this.#version += 1
    this.#oldest = this.#version
    this.#changes = []
    this.#refusal = how
    for (const response of this.#watches.keys()) endAsGone(response)
  }

  answer({ url = "", method = "" }: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(url, "http://fake")
    if (method !== "GET") {
      this.#addChanging(method, response)
      return
    }
    const isWatch = searchParams.has("watch")
    this.asked.push(`${isWatch ? "watch" : searchParams.get("limit") === "1" ? "first" : "list"} ${pathname}`)
    response.setHeader("content-type", "application/json")
    const from = Number(searchParams.get("resourceVersion") ?? 0)
    if (this.#isDown) response.writeHead(503).end("{}")
    else if (this.#isForbidden) response.writeHead(403).end(JSON.stringify({ message: "pods is forbidden" }))
    else if (!isWatch)
      response.end(JSON.stringify({ metadata: { resourceVersion: String(this.#version) }, items: [...this.#objects.values()] }))
    else if (from >= this.#oldest) this.#openWatch(response, from)
    else if (this.#refusal === "status") response.writeHead(410).end("{}")
    else endAsGone(response)
  }

  #addChanging(method: string, response: ServerResponse): void {
    const answer = () => void response.writeHead(200, { "content-type": "application/json" }).end('{"metadata":{}}')
    this.changing.push({ method, answer })
  }

  #openWatch(response: ServerResponse, from: number): void {
    response.flushHeaders()
    this.#watches.set(response, from)
    response.on("close", () => this.#watches.delete(response))
    for (const { version, type, object } of this.#changes) if (version > from) send(response, type, object)
  }

  #change(type: Change["type"], object: KubernetesObject): void {
    this.#version += 1
    const version = this.#version
    const versioned = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } }
    if (type === "DELETED") this.#objects.delete(object.metadata?.name ?? "")
    else this.#objects.set(object.metadata?.name ?? "", versioned)
    this.#changes = [...this.#changes, { version, type, object: versioned }]
    for (const [response, from] of this.#watches) if (version > from) send(response, type, versioned)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connections.close()
  }
}

function send(response: ServerResponse, type: string, object: object): void {
  response.write(`${JSON.stringify({ type, object })}\n`)
}

function endAsGone(response: ServerResponse): void {
  send(response, "ERROR", { kind: "Status", code: 410, message: "too old resource version" })
  response.end()
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

import assert from "node:assert/strict"
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { bounds } from "#contract"
import { eventually } from "../../../../test/fixtures/eventually.ts"
import { DockerClient } from "../client/docker-client.ts"
import { type RemovableContainer, removeContainer } from "./remove-container.ts"

/** A daemon that answers each request with 204. */
async function withDaemon(onRequest: (url: string, method: string) => void | Promise<void>, work: (client: DockerClient) => Promise<void>) {
  const folder = await mkdtemp(join(tmpdir(), "quayside-remove-"))
  const server = createServer(async (request, response) => {
    await onRequest(request.url ?? "", request.method ?? "")
    response.writeHead(204).end()
  })
  const socketPath = join(folder, "docker.sock")
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  const client = new DockerClient(socketPath)
  try {
    await work(client)
  } finally {
    client.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rm(folder, { recursive: true })
  }
}

test("volumes of an image and the writable layer are empty before the daemon removes them, and nothing else is", async () => {
  const folder = await mkdtemp(join(tmpdir(), "quayside-volumes-"))
  const names = ["volume", "named", "bound", "layer"] as const
  const [volume, named, bound, layer] = names.map((name) => join(folder, name)) as [string, string, string, string]
  for (const path of [volume, named, bound, layer]) {
    await mkdir(join(path, "-below"), { recursive: true })
    await writeFile(join(path, "-below", "file"), "x")
  }
  await symlink(bound, join(volume, "link"))
  const Mounts = [
    { Type: "volume", Name: "0".repeat(64), Source: volume },
    { Type: "volume", Name: "1".repeat(64), Source: join(folder, "missing") },
    { Type: "volume", Name: "named", Source: named },
    { Type: "bind", Source: bound },
  ] as unknown as RemovableContainer["Mounts"]
  const requests: [url: string, filled: string[]][] = []
  const filled = async () => {
    const all = await Promise.all([volume, named, bound, layer].map(async (path) => [path, await readdir(path)] as const))
    return all.flatMap(([path, names]) => (names.length > 0 ? [path] : []))
  }
  const onRequest = async (url: string, method: string) => void requests.push([`${method} ${url.split("?")[0]}`, await filled()])
  try {
    const GraphDriver = { Data: { UpperDir: layer } }
    const container = { Id: "c", State: { Running: true }, Mounts, GraphDriver }
    await withDaemon(onRequest, async (client) => {
      await removeContainer(client, { ...container, HostConfig: { ReadonlyRootfs: true } }, { graceMs: 0 })
      await removeContainer(client, { ...container, HostConfig: { ReadonlyRootfs: false } }, { graceMs: 0 })
    })
    assert.deepEqual(requests, [
      ["POST /containers/c/stop", [volume, named, bound, layer]],
      ["DELETE /containers/c", [named, bound, layer]],
      ["POST /containers/c/stop", [named, bound, layer]],
      ["DELETE /containers/c", [named, bound]],
    ])
  } finally {
    await rm(folder, { recursive: true })
  }
})

test("programs that use their whole grace delay neither removals nor other people's stops", { timeout: 90_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "quayside-remove-"))
  const stopping = new Set<string>()
  const server = createServer((request, response) => {
    const [, container = "", isStop] = /^\/containers\/([^/?]+)(\/stop)?/.exec(request.url ?? "") ?? []
    if (isStop) stopping.add(container)
    else response.writeHead(204).end()
  })
  const socketPath = join(folder, "docker.sock")
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  const client = new DockerClient(socketPath)
  const ending = new AbortController()
  const { signal } = ending
  const container = (Id: string, Running: boolean) => ({ Id, State: { Running }, Mounts: [] })
  const stop = (id: string, owner: string) =>
    removeContainer(client, container(id, true), { graceMs: 10_000, owner, signal }).catch(() => {})
  const maxStops = bounds.containers.engineGracesOfPerson.value
  const stops = Array.from({ length: maxStops + 10 }, (_, n) => stop(`ann-${n}`, "ann"))
  try {
    await eventually("one person's share of stops runs", () => stopping.size === maxStops, 30_000)
    stops.push(stop("bob", "bob"))
    await eventually("another person's stop runs", () => stopping.has("bob"), 30_000)
    await removeContainer(client, container("ended", false), { graceMs: 0 })
    assert.equal(stopping.size, maxStops + 1)
  } finally {
    ending.abort()
    await Promise.all(stops)
    client.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rm(folder, { recursive: true })
  }
})

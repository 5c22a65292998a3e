import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { type TestContext, test } from "node:test"
import { EngineError } from "../../engine.ts"
import { RegistryAllowlist } from "../../registry-allowlist.ts"
import { ClusterImages } from "./cluster-images.ts"
import { describeImage } from "./registry-client.ts"

test("a registry's description of millions of values is refused", async (t) => {
  const body = `{"layers":[${"{},".repeat(1_000_000)}{}]}`
  const registry = createServer((_request, response) => response.end(body))
  t.after(() => registry.close())
  await once(registry.listen(0, "127.0.0.1"), "listening")
  const reference = { host: `127.0.0.1:${(registry.address() as AddressInfo).port}`, path: "app", tag: "latest", digest: "" }
  const described = describeImage(reference, { credentials: undefined, architectures: ["amd64"], maxBytes: 0 })
  await assert.rejects(described, { code: "image_pull_failed", message: /more than 50000 values/ })
})

test("a registry leads its clients to no host that the allowlist denies, by redirects or for a token", async (t) => {
  const requests: string[] = []
  const registry = createServer(({ url = "" }, response) => {
    requests.push(url)
    if (url.includes("/moved/")) response.writeHead(307, { location: "https://10.0.0.1/secret" }).end()
    else response.writeHead(401, { "www-authenticate": 'Bearer realm="https://10.0.0.1/token"' }).end()
  })
  t.after(() => registry.close())
  await once(registry.listen(0, "127.0.0.1"), "listening")
  const { port } = registry.address() as AddressInfo
  const registries = new RegistryAllowlist({ allowed: ["127.0.0.1:*"] })
  const led: string[][] = []
  t.mock.method(registries, "checkRedirect", async ({ host }: { host: string }, to: string) => {
    led.push([host, to])
    throw new EngineError("image_pull_denied", "denied")
  })
  const images = new ClusterImages({ nodes: async () => [], registries, maxBytes: undefined })
  const policy = { verifyAccess: false, allowLocal: false }
  for (const name of ["moved/app", "app"])
    await assert.rejects(images.find(`127.0.0.1:${port}/${name}:v1`, policy), { code: "image_pull_denied", message: "denied" })
  assert.deepEqual(led, Array(2).fill([`127.0.0.1:${port}`, "10.0.0.1"]))
  assert.equal(requests.length, 2)
})

/** Serves texts by their digests. */
async function serveDescriptions(t: TestContext) {
  const texts = new Map<string, string>()
  const registry = createServer(({ url = "" }, response) => {
    const text = texts.get(url.split("/").at(-1) ?? "")
    response.writeHead(text === undefined ? 404 : 200).end(text)
  })
  t.after(() => registry.close())
  await once(registry.listen(0, "127.0.0.1"), "listening")
  const host = `127.0.0.1:${(registry.address() as AddressInfo).port}`
  return {
    host,
    put(text: string): string {
      const digest = `sha256:${createHash("sha256").update(text).digest("hex")}`
      texts.set(digest, text)
      return digest
    },
    describe: (digest: string) =>
      describeImage({ host, path: "app", tag: "", digest }, { credentials: undefined, architectures: ["amd64"], maxBytes: 1_000 }),
  }
}

test("a description that a node reads differently is refused", async (t) => {
  const { put, describe } = await serveDescriptions(t)
  const configured = (config: string) => () => describe(put(`{"config":{"digest":"${put(config)}"},"layers":[{"size":10}]}`))
  const plain = put("{}")
  const layered = (rest: string) => () => describe(put(`{"config":{"digest":"${plain}"},${rest}}`))
  const volumes = '{"/scratch":{}}'
  const other = (name: string) => new RegExp(`has "${name}", which is written in another case`)
  const twice = /has a name twice in one object/
  const wrongType = (name: string) => new RegExp(`${name} has a value of the wrong type`)
  const refused: [() => Promise<unknown>, RegExp][] = [
    [configured(`{"config":{"volumes":${volumes}}}`), other("volumes")],
    [configured(`{"config":{"Volumes":{},"volumeſ":${volumes}}}`), other("volumeſ")],
    [configured(`{"config":{},"Config":{"Volumes":${volumes}}}`), other("Config")],
    [configured(`{"config":{"Volumes":${volumes}},"config":{}}`), twice],
    [configured(`{"config":{"Volumes":${volumes},"\\u0056olumes":{}}}`), twice],
    [configured('{"config":{"Volumes":["/scratch"]}}'), wrongType("Volumes")],
    [configured('{"config":{"Env":"A=1"}}'), wrongType("Env")],
    [layered('"layers":[{"size":10}],"Layers":[{"size":1000000}]'), other("Layers")],
    [layered('"layers":[{"size":1000000}],"layers":[{}]'), twice],
    [layered('"layers":[{"Size":1000000}]'), other("Size")],
    [layered('"layers":[{"size":1000000},{"size":-1000000}]'), wrongType("size")],
    [layered('"layers":[{"size":"1000000"}]'), wrongType("size")],
    [layered('"layers":[{"size":10}],"manifests":[]'), /both as one image and as an index/],
  ]
  for (const [described, message] of refused) await assert.rejects(described, { code: "image_unavailable", message })
})

test("a description with nulls, and with names of its own that differ only by case, is accepted", async (t) => {
  const { put, describe } = await serveDescriptions(t)
  const labels = { a: "1", A: 'with "b": 2, and \\', "c\\": "" }
  const config = put(JSON.stringify({ config: { Volumes: { "/a": {}, "/A": {} }, Entrypoint: null, Env: ["A=1"], Labels: labels } }))
  const { info } = await describe(put(JSON.stringify({ config: { digest: config }, layers: [{ size: 10 }], annotations: labels })))
  assert.deepEqual([info.volumes, info.entryPoint, info.variables, info.size], [["/a", "/A"], [], ["A"], 10])
  const { info: empty } = await describe(put(JSON.stringify({ config: { digest: put('{"config":null}') }, layers: null, manifests: null })))
  assert.deepEqual([empty.volumes, empty.size], [[], 0])
})

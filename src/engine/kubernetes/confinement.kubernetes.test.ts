import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, suite, test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import { ensureBusyboxImage } from "../../../test/fixtures/docker/busybox.ts"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { startKubernetesEngine, type TestKubernetesEngine } from "../../../test/fixtures/kubernetes/kubernetes-engine.ts"
import { specOf } from "../../../test/fixtures/run-spec.ts"
import type { RunSpec } from "../engine.ts"
import { fetchWhenListening } from "../testing/engine-under-test.ts"

const never = new AbortController().signal
const ignore = () => {}
const attempts = 12

suite("what a run on a cluster can reach", () => {
  let rig: TestKubernetesEngine

  before(async () => {
    rig = await startKubernetesEngine()
  })

  after(async () => {
    for (const run of await rig.engine.observe()) await rig.engine.stop(run.key, { graceMs: 0 })
    await rig[Symbol.asyncDispose]()
  })

  const started = async (script: string, fields: Partial<RunSpec> = {}) => {
    const spec = specOf({ image: rig.image, command: ["sh", "-c", script], ...fields })
    await rig.engine.start(spec, ignore, never)
    return spec
  }

  /** The output of a program that ends by itself. */
  const outputOf = async (script: string, fields: Partial<RunSpec> = {}) => {
    const { key } = await started(script, fields)
    const lines = await Array.fromAsync(rig.engine.logs(key, { follow: true }))
    await rig.engine.stop(key, { graceMs: 0 })
    return lines.map(({ text }) => text).join("\n")
  }

  test("a run that swaps directories for links never gets another person's files mounted", async () => {
    await rig.namespace.directory("users/ann/data")
    await rig.namespace.directory("users/bob/data")
    writeFileSync(join(rig.namespace.filesRoot, "users/bob/data/secret"), "of bob")
    writeFileSync(join(rig.namespace.filesRoot, "users/ann/data/own"), "of ann")
    const swap =
      "cd /home/ann; while :; do mv data real && ln -s ../bob/data data; sleep 0.3; [ -L data ] && rm data; mv real data; sleep 0.3; done 2>/dev/null"
    const attacker = await started(swap, { mounts: [{ source: "/users/ann", target: "/home/ann", readOnly: false }] })
    const mounts = [{ source: "/users/ann/data", target: "/data", readOnly: false }]
    const seen = await Promise.all(
      Array.from({ length: attempts }, async (_, n) => {
        await pause(n * 110)
        return outputOf("ls /data", { mounts }).catch(({ code }: { code: string }) => code)
      }),
    )
    await rig.engine.stop(attacker.key, { graceMs: 0 })
    assert.deepEqual(new Set(seen).difference(new Set(["own", "mount_missing"])), new Set(), "nobody saw the secret")
    assert.ok(seen.includes("own"), seen.join())
  })

  test("a run has no rights, no token and no writable root", async () => {
    const script = "id; cat /proc/self/status | head -60; ls /var/run/secrets; touch /file; env"
    const output = await outputOf(`${script} 2>&1`)
    assert.match(output, /uid=1000/)
    assert.match(output, /CapEff:\s+0{16}$/m)
    assert.match(output, /NoNewPrivs:\s+1$/m)
    assert.match(output, /Seccomp:\s+2$/m)
    assert.match(output, /\/var\/run\/secrets: No such file/)
    assert.match(output, /\/file: Read-only file system/)
    assert.doesNotMatch(output, /^(?!KUBERNETES_)\w+_(SERVICE_HOST|PORT_)/m)
  })

  test("the seccomp profile of Docker's runs works on nodes that have it", async () => {
    const image = await rig.registry.push("quayside/python-app:latest", "test/python-app:latest")
    const lease = "import fcntl, os; fcntl.fcntl(os.open('/tmp/file', os.O_CREAT), 1024, 0); print('done')"
    const command = ["python3", "-c", lease]
    const specs = [specOf({ image, command }), specOf({ image, command })] as const
    await using confined = await rig.open({ pods: { seccompProfile: "quayside.json" } })
    await rig.engine.start(specs[0], ignore, never)
    await confined.start(specs[1], ignore, never)
    const [runtimes, own] = await Promise.all(
      specs.map(async ({ key }) => (await Array.fromAsync(confined.logs(key, { follow: true }))).at(-1)?.text),
    )
    for (const { key } of specs) await confined.stop(key, { graceMs: 0 })
    assert.equal(runtimes, "done")
    assert.match(own ?? "", /^PermissionError/)
    await using wrong = await rig.open({ pods: { seccompProfile: "none.json" } })
    const missing = specOf({ image: rig.image, command: ["sleep", "1000"] })
    await assert.rejects(wrong.start(missing, ignore, never), {
      code: "engine_error",
      message: "The node lacks the seccomp profile of runs",
    })
    await wrong.stop(missing.key, { graceMs: 0 })
  })

  test("a program that fills a volume of its image is ended, and all directories of a mount belong to the runs", async () => {
    const name = "quayside-test/volumes:latest"
    const input = `FROM ${await ensureBusyboxImage()}\nVOLUME /data /home/ann/cache\nWORKDIR /home/ann/work\n`
    execFileSync("docker", ["build", "--quiet", "--tag", name, "-"], { input })
    const image = await rig.registry.push(name, "test/volumes:latest")
    const home = await rig.namespace.directory("users/ann")
    const mounts = [{ source: "/users/ann", target: "/home/ann", readOnly: false }]
    const { key } = await started("dd if=/dev/zero of=/data/big bs=1M count=100; sleep 1000", { image, mounts, diskMiB: 20 })
    for (const made of ["cache", "work"]) assert.equal(statSync(join(rig.namespace.filesRoot, home, made)).uid, 1000, made)
    const observed = async () => (await rig.engine.observe()).find((run) => run.key === key)
    await eventually("the run is ended", async () => (await observed())?.state === "exited", 150_000)
    assert.equal((await observed())?.cause?.code, "evicted")
    await rig.engine.stop(key, { graceMs: 0 })
  })

  test("of an index, the node runs the image that was judged, not one that it takes for its own", async () => {
    const busybox = await ensureBusyboxImage()
    const name = "quayside-test/hidden:latest"
    execFileSync("docker", ["build", "--quiet", "--tag", name, "-"], { input: `FROM ${busybox}\nVOLUME /hidden\n` })
    await rig.registry.push(name, "test/index:hidden")
    await rig.registry.push(busybox, "test/index:judged")
    const manifests = `http://${rig.registry.host}/v2/test/index/manifests`
    const headers = { accept: "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json" }
    const described = async (tag: string, architecture: string) => {
      const response = await fetch(`${manifests}/${tag}`, { headers })
      const digest = response.headers.get("docker-content-digest")
      const mediaType = response.headers.get("content-type")
      return { mediaType, digest, size: (await response.arrayBuffer()).byteLength, platform: { architecture, os: "linux" } }
    }
    const [own, alias] = process.arch === "arm64" ? ["arm64", "aarch64"] : ["amd64", "x86_64"]
    const entries = [await described("hidden", alias), await described("judged", own)]
    const mediaType = "application/vnd.oci.image.index.v1+json"
    const body = JSON.stringify({ schemaVersion: 2, mediaType, manifests: entries })
    const { status } = await fetch(`${manifests}/both`, { method: "PUT", headers: { "content-type": mediaType }, body })
    assert.equal(status, 201)
    const output = await outputOf("grep -c ' /hidden ' /proc/mounts; echo done", { image: `${rig.registry.host}/test/index:both` })
    assert.equal(output, "0\ndone")
  })

  test("runs reach neither each other nor the cluster's and the node's own services", async () => {
    const server = await started("exec httpd -f -p 8080 -h /www")
    assert.equal((await fetchWhenListening(rig.engine, server)).status, 200)
    const { host } = (await rig.engine.address(server.key, 8080)) ?? assert.fail()
    const node = await rig.namespace.kubectl(["get", "nodes", "--output", "jsonpath={.items[0].status.addresses[0].address}"])
    const targets = [`${host} 8080`, `${node} 10250`, `${node} 6443`, "10.96.0.1 443", "169.254.169.254 80"]
    const script = targets.map((target) => `nc -w 2 ${target} </dev/null 2>/dev/null && echo "reached ${target}"`).join("; ")
    assert.equal(await outputOf(`${script}; echo done`), "done")
    await rig.engine.stop(server.key, { graceMs: 0 })
  })

  test("an internet setting of a group replaces everybody's", async () => {
    const { items } = JSON.parse(await rig.namespace.kubectl(["get", "networkpolicies", "--output", "json"]))
    const names = items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)
    assert.deepEqual(names.sort(), [`quayside-${rig.instance}-internet-common`, `quayside-${rig.instance}-runs`])
    await using other = await rig.open({ groupInternet: [{ group: "students", internet: false }] })
    await other.prepare()
    const spec = specOf({ image: rig.image, command: ["sleep", "1000"], internetOf: "students" })
    await other.start(spec, ignore, never)
    const selected = ["get", "pods", "--selector", `quayside.io/key=${spec.key}`, "--output", "jsonpath={.items[0].metadata.labels}"]
    const labels = JSON.parse(await rig.namespace.kubectl(selected))
    const policy = JSON.parse(
      await rig.namespace.kubectl([
        "get",
        "networkpolicy",
        `quayside-${rig.instance}-internet-${labels["quayside.io/internet"]}`,
        "--output",
        "json",
      ]),
    )
    assert.deepEqual([policy.spec.egress ?? [], policy.spec.policyTypes], [[], ["Egress"]])
    await other.stop(spec.key, { graceMs: 0 })
  })

  test("a directory that does not exist, a link and a file end the start with mount_missing", async () => {
    await rig.namespace.directory("users/eve")
    mkdirSync(join(rig.namespace.filesRoot, "users/eve/real"))
    writeFileSync(join(rig.namespace.filesRoot, "users/eve/file"), "")
    for (const source of ["/users/eve/none", "/users/eve/file"])
      await assert.rejects(started("true", { mounts: [{ source, target: "/x", readOnly: true }] }), { code: "mount_missing" })
  })
})

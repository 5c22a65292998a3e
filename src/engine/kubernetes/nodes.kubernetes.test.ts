import assert from "node:assert/strict"
import { after, before, suite, test } from "node:test"
import { ensureTorchImage } from "../../../test/fixtures/docker/torch.ts"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { startKubernetesEngine, type TestKubernetesEngine } from "../../../test/fixtures/kubernetes/kubernetes-engine.ts"
import { specOf } from "../../../test/fixtures/run-spec.ts"
import type { RunSpec, StartStep } from "../engine.ts"
import { fetchWhenListening, findRun, observeUntil } from "../testing/engine-under-test.ts"

const never = new AbortController().signal
const ignore = () => {}

suite("runs on several nodes", () => {
  let rig: TestKubernetesEngine

  before(async () => {
    rig = await startKubernetesEngine()
  })

  after(async () => {
    for (const run of await rig.engine.observe()) await rig.engine.stop(run.key, { graceMs: 0 })
    await rig[Symbol.asyncDispose]()
  })

  const specWith = (script: string, fields: Partial<RunSpec> = {}) =>
    specOf({ image: rig.image, command: ["sh", "-c", script], nodes: 2, ...fields })

  test("the first failure ends all ranks, and is the reason with its rank", async () => {
    const spec = specWith('[ "$NODE_RANK" = 1 ] && { sleep 1; exit 7; }; exec sleep 1000')
    await rig.engine.start(spec, ignore, never)
    const ended = await observeUntil(rig.engine, spec.key, ({ state }) => state === "exited")
    assert.deepEqual([ended.exitCode, ended.endedRank], [7, 1])
    await rig.engine.stop(spec.key, { graceMs: 0 })
    assert.equal(await findRun(rig.engine, spec.key), undefined)
  })

  test("a run of which not all nodes have room at once holds none, says so, and starts when there is room", async () => {
    const { cpus = 0 } = (await rig.engine.capacity())[0] ?? {}
    await using exact = await rig.open({ cpuOvercommit: 1 })
    const holder = specOf({ image: rig.image, command: ["sleep", "1000"], cpus: cpus - 1 })
    await exact.start(holder, ignore, never)
    const waiting = Promise.withResolvers<StartStep>()
    const spec = specWith("exec sleep 1000", { cpus: 1 })
    const starting = exact.start(spec, (step) => /at once/.test(step.progress?.step ?? "") && waiting.resolve(step), never)
    assert.match((await waiting.promise).progress?.step ?? "", /^Waits until 2 nodes have room at once; now there is room for [01]$/)
    const phases = ["get", "pods", "--selector", `quayside.io/key=${spec.key}`, "--output", "jsonpath={.items[*].spec.nodeName}"]
    assert.equal(await rig.namespace.kubectl(phases), "", "no pod of it is on a node")
    await exact.stop(holder.key, { graceMs: 0 })
    assert.equal((await starting).nodeNames.length, 2)
    await exact.stop(spec.key, { graceMs: 0 })
  })

  test("each rank has its number and output, resolves the others, and two ranks of PyTorch add up their numbers", {
    timeout: 400_000,
  }, async () => {
    const image = await rig.registry.push(await ensureTorchImage(), "test/torch:latest")
    const program = `
import http.server, time, torch, torch.distributed as d
d.init_process_group("gloo")
t = torch.tensor([d.get_rank() + 1])
d.all_reduce(t)
print("sum", t.item(), "of", d.get_world_size(), flush=True)
if d.get_rank() == 0: http.server.ThreadingHTTPServer(("", 8080), http.server.SimpleHTTPRequestHandler).serve_forever()
time.sleep(1000)`
    // Debian's torchrun fails with Python 3.11 unless an option names another rank of the node.
    const torchrun =
      "python3 -m torch.distributed.run --redirects=1:3 --tee=1:3 --nnodes=$NNODES --node_rank=$NODE_RANK --nproc_per_node=$NPROC_PER_NODE --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT"
    const said = "echo $NODE_RANK of $NNODES at $MASTER_ADDR:$MASTER_PORT with $NPROC_PER_NODE, $WORLD_SIZE in all"
    const spec = specOf({
      ...{ image, nodes: 2, memoryMiB: 1_024, env: { PROGRAM: program, GLOO_SOCKET_IFNAME: "eth0", OMP_NUM_THREADS: "1" } },
      command: ["sh", "-c", `${said}; printf %s "$PROGRAM" >/tmp/sum.py; exec ${torchrun} /tmp/sum.py`],
    })
    const started = await rig.engine.start(spec, ignore, never)
    assert.equal(started.nodeNames.length, 2)
    const wanted = new Set(["0: sum 3 of 2", "1: sum 3 of 2"])
    const lines: string[] = []
    for await (const { rank, text } of rig.engine.logs(spec.key, { follow: true })) {
      lines.push(`${rank}: ${text}`)
      if (wanted.isSubsetOf(new Set(lines))) break
    }
    const master = `run-${spec.key.slice(0, 12)}-0.quayside-${spec.key}`
    for (const rank of [0, 1]) assert.ok(lines.includes(`${rank}: ${rank} of 2 at ${master}:29500 with 1, 2 in all`), lines.join("\n"))
    const second = await Array.fromAsync(rig.engine.logs(spec.key, { rank: 1 }))
    assert.ok(second.length > 1 && second.every(({ rank }) => rank === 1))
    assert.equal((await fetchWhenListening(rig.engine, spec)).status, 200, "the address is that of rank 0")
    await rig.engine.stop(spec.key, { graceMs: 0 })
    const left = ["get", "pods,services,secrets", "--selector", `quayside.io/key=${spec.key}`, "--output", "name"]
    await eventually("nothing of the run is left", async () => (await rig.namespace.kubectl(left)) === "")
  })
})

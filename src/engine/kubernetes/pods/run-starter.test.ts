import assert from "node:assert/strict"
import { test } from "node:test"
import { specOf } from "../../../../test/fixtures/run-spec.ts"
import type { StartStep } from "../../engine.ts"
import { type FakeApiServer, startFakeApiServer } from "../testing/fake-api-server.ts"
import { RunStarter } from "./run-starter.ts"

const nodes = [{ name: "node", cpus: 4, memoryMiB: 10_000, gpus: [] }]

/** On a cluster with one node of four processors, without pods of runs. */
function starterOf({ client }: FakeApiServer): RunStarter {
  const parts = {
    client,
    pods: { items: async () => new Map(), group: () => [], selected: new Set() },
    images: { findForRun: async () => ({ info: { digest: "" }, reference: "tiny", host: undefined }) },
    locks: { lock: async () => {}, unlock: async () => {} },
    context: { options: { instance: "test", filesRoot: "/nowhere", pods: {} }, uid: 1000, gid: 1000 },
    capacity: async () => nodes,
    remove: async () => {},
  }
  return new RunStarter(parts as unknown as ConstructorParameters<typeof RunStarter>[0])
}

const start = (server: FakeApiServer, pods: number, { report, signal }: { report: (step: StartStep) => void; signal: AbortSignal }) =>
  starterOf(server).start({ spec: specOf({ image: "tiny", nodes: pods }), report, resolveSpec: undefined }, signal)

test("a run that waits for room on several nodes has no pods, and one with more pods than the empty cluster has room for fails", async () => {
  await using server = await startFakeApiServer()
  const container = { name: "main", resources: { requests: { cpu: "2", memory: "1Mi" } } }
  server.set(Object.assign({ metadata: { name: "other" } }, { spec: { nodeName: "node", containers: [container] } }))
  const ended = new AbortController()
  const waiting = Promise.withResolvers<string>()
  const report = ({ progress }: StartStep) => void (progress?.step && waiting.resolve(progress.step))
  const starting = start(server, 3, { report, signal: ended.signal })
  assert.match(await Promise.race([waiting.promise, starting.then(String)]), /there is room for 2$/)
  assert.equal(server.changing.length, 0)
  ended.abort(new Error("ended"))
  await assert.rejects(starting, /ended/)
  await assert.rejects(start(server, 5, { report, signal: new AbortController().signal }), {
    code: "insufficient_cpu",
    message: /room for 4 of the 5/,
  })
})

import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, before, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { eventually } from "../fixtures/eventually.ts"
import { kernelNames } from "../fixtures/kernel-names.ts"
import { startTestServer, type TestServer } from "../test-server.ts"

const run = promisify(execFile)

let testServer: TestServer
before(async () => {
  testServer = await startTestServer({ engine: "docker" })
})
after(() => testServer[Symbol.asyncDispose]())

test("a server reports missing firewall rules and restores them by itself", async () => {
  const { chains } = kernelNames(instanceOf(testServer))
  const engine = async () =>
    (await (await fetch(`${testServer.quayside.baseUrl}/readyz`)).json()).checks.engine as { ok: boolean; msg: string }
  assert.deepEqual(await engine(), { ok: true, msg: "" })
  const flush = () => run("iptables", ["--wait", "5", "-t", "mangle", "-F", chains.forward])
  // An observation may have set it again in between, and each check serves everybody for a while.
  let message = ""
  await eventually("the server reports it", async () => {
    await flush()
    message = (await engine()).msg
    return message !== ""
  })
  assert.match(message, /firewall rules .* missing/)
  while (!(await engine()).ok) await sleep(100)
  assert.match((await run("iptables", ["--wait", "5", "-t", "mangle", "-S", chains.forward])).stdout, /-j DROP/)
})

function instanceOf({ dataDir }: TestServer): string {
  using database = new DatabaseSync(join(dataDir, "quayside.db"), { readOnly: true })
  return String(database.prepare("select value from meta where key = 'instance'").get()?.value)
}

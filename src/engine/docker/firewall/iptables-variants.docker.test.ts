import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { bounds } from "#contract"

const run = promisify(execFile)
const script = join(import.meta.dirname, "testing/isolated-firewall.ts")

for (const variant of ["nft", "legacy"]) {
  const skip = !existsSync(`/usr/sbin/iptables-${variant}`) && `there is no iptables-${variant} here`
  test(`on a host of iptables-${variant} the rules are set, recognized, reported missing, repaired and removed`, { skip }, async () => {
    const { stdout } = await run("unshare", ["--net", "--mount", process.execPath, script, variant])
    const { version, missing, questions, ...result } = JSON.parse(stdout)
    assert.match(version, variant === "nft" ? /nf_tables/ : /legacy/)
    // The host has some of its own.
    assert.ok(questions <= bounds.containers.connections.value + 100, `${questions} connections are tracked`)
    assert.match(missing, /firewall rules .* missing/)
    assert.deepEqual(result, {
      before: { host: true, byQuayside: true, byRoot: true, byOthers: true },
      set: true,
      after: { host: false, byQuayside: true, byRoot: false, byOthers: false },
      setAgain: false,
      repaired: true,
      left: [],
    })
  })
}

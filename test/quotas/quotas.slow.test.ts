import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { test } from "node:test"

const root = join(import.meta.dirname, "../..")
const cache = join(root, ".cache/vm")
const isSupported = process.arch === "x64" && process.getuid?.() === 0

test("the kernel enforces `MaxStorage` on ext4 and XFS with project quotas", {
  skip: !isSupported && "needs root on x86-64",
  timeout: 900_000,
}, () => {
  const inside = [process.execPath, "--disable-warning=ExperimentalWarning", "--test", "--test-timeout=300000", "test/quotas/inside.ts"]
  const { status, stdout } = spawnSync(join(import.meta.dirname, "run-in-vm"), [cache, ...inside], {
    cwd: root,
    env: { ...process.env, VM_SECONDS: "850" },
    encoding: "utf8",
    maxBuffer: 64 * 2 ** 20,
  })
  assert.equal(status, 0, stdout)
  assert.match(stdout, /tests 19\b/)
})

import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { raiseKernelLimits } from "./kernel-limits.ts"

/** A usual value of each, and what it becomes. */
const limits = {
  "net/ipv4/neigh/default/gc_thresh2": [512, 32_768],
  "net/ipv4/neigh/default/gc_thresh3": [1_024, 65_536],
  "net/netfilter/nf_conntrack_max": [262_144, 1_048_576],
  "kernel/pid_max": [32_768, 4_194_304],
  "kernel/threads-max": [63_432, 4_194_304],
  "fs/epoll/max_user_watches": [5_491_489, 1_000_000_000],
  "fs/inotify/max_user_watches": [192_536, 1_000_000_000],
  "fs/inotify/max_user_instances": [128, 1_000_000_000],
} as const

test("limits of the kernel that all runs share get room for thousands of runs, and larger ones are kept", async () => {
  const folder = mkdtempSync(join(tmpdir(), "quayside-limits-"))
  try {
    const read = (name: string) => Number(readFileSync(join(folder, name), "utf8"))
    for (const [name, [usual]] of Object.entries(limits)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), `${usual}\n`)
    }
    await raiseKernelLimits(folder)
    for (const [name, [, raised]] of Object.entries(limits)) {
      assert.equal(read(name), raised, name)
      writeFileSync(join(folder, name), `${raised + 1}\n`)
    }
    rmSync(join(folder, "kernel/pid_max"))
    await assert.rejects(raiseKernelLimits(folder), /pid_max/)
    for (const [name, [, raised]] of Object.entries(limits)) if (name !== "kernel/pid_max") assert.equal(read(name), raised + 1, name)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

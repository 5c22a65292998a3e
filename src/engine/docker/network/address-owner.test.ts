import assert from "node:assert/strict"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { AddressOwnership } from "./address-owner.ts"

const owner = { id: "c".repeat(64), pid: 7, host: "10.213.0.5" }

/** A directory like `/proc`, with each process's container and addresses. */
async function processes(): Promise<
  AsyncDisposable & { path: string; put(container: string, ...hosts: string[]): Promise<void>; end(): Promise<void> }
> {
  const path = await mkdtemp(join(tmpdir(), "quayside-proc-"))
  const end = () => rm(join(path, "7"), { recursive: true, force: true })
  return {
    path,
    end,
    async put(container, ...hosts) {
      await end()
      await mkdir(join(path, "7", "net"), { recursive: true })
      await writeFile(join(path, "7", "cgroup"), `12:memory:/docker/${container}\n0::/\n`)
      const lines = hosts.map((host) => `           |-- ${host}\n              /32 host LOCAL\n`)
      await writeFile(join(path, "7", "net", "fib_trie"), `Main:\n${lines.join("")}`)
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  }
}

test("a container owns its address until its process exits, loses it, or belongs to another container", async () => {
  await using proc = await processes()
  await proc.put(owner.id, "127.0.0.1", owner.host)
  const isCurrent = new AddressOwnership(proc.path).checkFor(owner)
  assert.equal(isCurrent(), true)
  const changes = [
    () => proc.end(),
    () => proc.put(owner.id, "127.0.0.1", "10.213.0.55"),
    () => proc.put("d".repeat(64), "127.0.0.1", owner.host),
  ]
  for (const change of changes) {
    await change()
    assert.equal(isCurrent(), false)
    await proc.put(owner.id, owner.host)
    assert.equal(isCurrent(), true)
  }
})

test("an invisible process counts as gone only if another container's process was visible", async () => {
  await using proc = await processes()
  const owners = new AddressOwnership(proc.path)
  const isFirstCurrent = owners.checkFor(owner)
  assert.equal(isFirstCurrent(), true)
  await proc.put(owner.id, owner.host)
  assert.equal(owners.checkFor(owner)(), true)
  await proc.end()
  assert.deepEqual([isFirstCurrent(), owners.checkFor(owner)()], [false, false])
})

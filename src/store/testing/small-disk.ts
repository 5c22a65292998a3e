import { execFileSync } from "node:child_process"
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Failure } from "#contract"
import { type TestDatabase, testDatabase } from "./databases.ts"

/** Whether a change failed because the disk is full. */
export const isStorageFailure = (error: unknown) => error instanceof Failure && error.code === "storage_full"

/** Mounts a file system of `size` KiB for a database. Needs root. */
export async function smallDisk(size: number): Promise<TestDatabase & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), "quayside-disk-"))
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}k`, "tmpfs", path])
  const database = testDatabase(`sqlite:${join(path, "data/quayside.db")}`, async () => {
    execFileSync("umount", ["-l", path])
    await rm(path, { recursive: true })
  })
  return { ...database, path }
}

/** Fills the file system except for a few bytes; returns the path of the filling file. */
export async function fillDisk(path: string): Promise<string> {
  const reserve = join(path, "ballast")
  for (let size = 1 << 20; size >= 1; size >>= 1) {
    const before = (await readFile(reserve).catch(() => Buffer.alloc(0))).length
    await writeFile(reserve, Buffer.alloc(size), { flag: "a" }).catch(() => {})
    if ((await stat(reserve)).size - before === size) size <<= 1
  }
  return reserve
}

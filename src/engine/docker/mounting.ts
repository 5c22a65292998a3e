import { spawn } from "node:child_process"
import { writeFile } from "node:fs/promises"
import type { Directory } from "#kit"
import { EngineError } from "../engine.ts"
import { childEnvironment } from "./child.ts"

export interface Bind {
  directory: Directory
  /** Where it is to be found; an empty directory so far. */
  path: string
  readOnly: boolean
}

const firstFd = 3
const flags = "bind,nosuid,nodev,private"

/**
 * Binds what the descriptors hold, each alone without what is mounted below it. Where it fails some are bound.
 *
 * One process mounts them all, from a table that is written to `tablePath`: a process per mount costs several times as much as the mounting.
 */
export async function bind(binds: readonly Bind[], tablePath: string): Promise<void> {
  const table = binds.map(
    ({ path, readOnly }, n) => `/proc/self/fd/${firstFd + n} ${escaped(path)} none ${flags}${readOnly ? ",ro" : ""} 0 0\n`,
  )
  await writeFile(tablePath, table.join(""), { mode: 0o600 })
  const words = ["mount", "--all", "--no-canonicalize", "--no-mtab", "--fstab", tablePath]
  const said = await command(
    words,
    binds.map(({ directory }) => directory.handle.fd),
  )
  if (said === undefined) return
  if (/not exist|no such file/i.test(said))
    throw new EngineError("mount_missing", "A directory was removed while it was being mounted", { detail: said })
  throw new EngineError("engine_error", "A directory could not be pinned for mounting", { detail: said })
}

/** As the table of file systems wants it: space, tab, line feed and backslash as octal numbers. */
function escaped(path: string): string {
  return path.replace(/[\s\\]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`)
}

/** Whether it worked is told by `rmdir`, which fails on what is still mounted: in half a pin some are not mounted in the first place. */
export async function unmount(paths: readonly string[]): Promise<void> {
  if (paths.length > 0) await command(["umount", "--no-canonicalize", "--no-mtab", "--lazy", ...paths], [])
}

/** Runs a program to its end; answers what it said where it failed. It has the descriptors as 3, 4, … */
function command([file = "", ...words]: string[], descriptors: readonly number[]): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, words, {
      stdio: ["ignore", "ignore", "pipe", ...descriptors],
      env: childEnvironment,
    })
    let said = ""
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said += text
    })
    child.on("error", reject)
    child.on("close", (code) => resolve(code === 0 ? undefined : said || `${file} ended with ${code}`))
  })
}

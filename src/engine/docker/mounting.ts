import { spawn } from "node:child_process"
import type { Directory } from "#kit"
import { EngineError } from "../engine.ts"

export interface Bind {
  directory: Directory
  /** Where it is to be found; an empty directory so far. */
  path: string
  readOnly: boolean
}

/** One shell for all: a process per mount costs Node more than the mounting. Descriptors come in as 3, 4, … */
const bindScript = `fd=3
while [ $# -gt 0 ]; do
  mount --no-canonicalize --no-mtab --bind --make-private -o "$1" /proc/self/fd/$fd "$2" || exit 1
  fd=$((fd + 1)); shift 2
done`

/** Binds what the descriptors hold, each alone without what is mounted below it. Where it fails some are bound. */
export async function bind(binds: readonly Bind[]): Promise<void> {
  const words = binds.flatMap(({ path, readOnly }) => [readOnly ? "nosuid,nodev,ro" : "nosuid,nodev", path])
  const said = await command(
    ["/bin/sh", "-c", bindScript, "pin", ...words],
    binds.map(({ directory }) => directory.handle.fd),
  )
  if (said === undefined) return
  if (/not exist|no such file/i.test(said))
    throw new EngineError("mount_missing", "A directory was removed while it was being mounted", { detail: said })
  throw new EngineError("engine_error", "A directory could not be pinned for mounting", { detail: said })
}

/** Whether it worked is told by `rmdir`, which fails on what is still mounted: in half a pin some are not mounted in the first place. */
export async function unmount(paths: readonly string[]): Promise<void> {
  if (paths.length > 0) await command(["umount", "--no-canonicalize", "--no-mtab", "--lazy", ...paths], [])
}

/** Runs a program to its end; answers what it said where it failed. */
function command([file = "", ...words]: string[], descriptors: readonly number[]): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, words, {
      stdio: ["ignore", "ignore", "pipe", ...descriptors],
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" },
    })
    let said = ""
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said += text
    })
    child.on("error", reject)
    child.on("close", (code) => resolve(code === 0 ? undefined : said || `${file} ended with ${code}`))
  })
}

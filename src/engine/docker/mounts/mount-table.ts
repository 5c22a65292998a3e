import { writeFile } from "node:fs/promises"
import type { Directory } from "#kit"
import { EngineError } from "../../engine.ts"
import type { Shell } from "../host/shell.ts"

export interface BindMount {
  directory: Directory
  /** The mount point: an empty directory. */
  path: string
  readOnly: boolean
}

const flags = "bind,nosuid,nodev,private"

/**
 * Bind-mounts the opened directories, each without the mounts below it. After a failure some are
 * mounted.
 *
 * One process mounts them all, from a table at `tablePath`: a process per mount costs several times
 * as much as the mounting itself. It finds the descriptors in this process.
 */
export async function bindMounts(shell: Shell, binds: readonly BindMount[], tablePath: string): Promise<void> {
  const table = binds.map(
    ({ directory, path, readOnly }) =>
      `/proc/${process.pid}/fd/${directory.handle.fd} ${escapePath(path)} none ${flags}${readOnly ? ",ro" : ""} 0 0\n`,
  )
  await writeFile(tablePath, table.join(""), { mode: 0o600 })
  const { code, output } = await shell.run(["mount", "--all", "--no-canonicalize", "--no-mtab", "--fstab", tablePath])
  if (code === 0) return
  const detail = output || `mount ended with ${code}`
  if (/not exist|no such file/i.test(output))
    throw new EngineError("mount_missing", "A directory was removed while it was being mounted", { detail })
  throw new EngineError("engine_error", "A directory could not be pinned for mounting", { detail })
}

/** Escapes space, tab, line feed and backslash as octal numbers, as `fstab` requires. */
function escapePath(path: string): string {
  return path.replace(/[\s\\]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`)
}

/**
 * Ignores failures: `rmdir` later fails on a directory that is still mounted, and an interrupted
 * pin has directories that never were.
 */
export async function unmount(shell: Shell, paths: readonly string[]): Promise<void> {
  if (paths.length > 0) await shell.run(["umount", "--no-canonicalize", "--no-mtab", "--lazy", ...paths])
}

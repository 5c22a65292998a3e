import { spawn } from "node:child_process"
import { once } from "node:events"
import { basename, dirname } from "node:path"
import { tarEnv } from "#channel"
import type { Cli } from "../io/cli.ts"
import { CliError } from "../io/failures.ts"
import type { WriteArchive } from "./pack-file.ts"
import { drained, type Unpacker } from "./unpack-file.ts"

/** The system's own `tar`: Windows, macOS and Linux have one. */
function startTar({ process: { env } }: Cli, args: readonly string[]) {
  const child = spawn("tar", args, { stdio: ["pipe", "pipe", "pipe"], env: { ...env, ...tarEnv } })
  let printed = ""
  child.stderr.on("data", (chunk) => {
    printed = `${printed}${chunk}`.slice(0, 1_000)
  })
  child.stdin.on("error", () => {})
  const ended = once(child, "close").then(
    ([code]) => {
      if (code !== 0) throw new CliError(`tar failed (exit code ${code}): ${printed.trim()}`)
    },
    (error: Error) => {
      throw new CliError(`tar cannot be started: ${error.message}`)
    },
  )
  ended.catch(() => {})
  return { child, ended }
}

export interface PackOptions {
  path: string
  /**
   * Paths below the folder's parent that are packed without what is in them, each ended by a zero
   * byte. Default: the whole folder.
   */
  list?: string
  write: WriteArchive
  onBytes: (done: number) => void
}

/** Writes the archive of a folder. Resolves with its size. */
export async function packFolder(cli: Cli, { path, list, write, onBytes }: PackOptions): Promise<number> {
  const what = list ? ["--no-recursion", "--null", "-T", "-"] : ["--", basename(path)]
  const tar = startTar(cli, ["-cf", "-", "-C", dirname(path), ...what])
  tar.child.stdin.end(list)
  let bytes = 0
  try {
    for await (const chunk of tar.child.stdout) {
      await write(chunk as Buffer)
      bytes += (chunk as Buffer).length
      onBytes(bytes)
    }
    await tar.ended
    return bytes
  } catch (error) {
    tar.child.kill()
    throw error
  }
}

/** Unpacks an archive below a directory. */
export function unpackByTar(cli: Cli, directory: string): Unpacker {
  const { child, ended } = startTar(cli, ["-xf", "-", "--no-same-owner", "--no-same-permissions", "-C", directory])
  return {
    async write(data) {
      const isFull = !child.stdin.write(data)
      if (isFull) await drained(child.stdin)
      if (child.stdin.destroyed) await ended
    },
    async end() {
      child.stdin.end()
      await ended
    },
    async abort() {
      child.kill()
      await ended.catch(() => {})
    },
  }
}

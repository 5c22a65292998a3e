import { chmod, mkdir, readFile, rename, stat, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import type { CliProcess } from "./cli.ts"
import { CliError } from "./failures.ts"

/** `$XDG_CONFIG_HOME/quayside`. */
export function configDirectory({ env }: CliProcess): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config"), "quayside")
}

/** `$XDG_STATE_HOME/quayside`. */
export function stateDirectory({ env }: CliProcess): string {
  return join(env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local", "state"), "quayside")
}

/** The new file takes the old one's place at once, so that a reader never sees half of it. */
export async function replaceFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const tempFile = `${file}.${process.pid}`
  await writeFile(tempFile, text, { mode: 0o600 })
  await chmod(tempFile, 0o600)
  await rename(tempFile, file)
}

/**
 * The text of a file with secrets; undefined if there is none. Throws if other people can read it.
 * `what` says what it is, for the message.
 */
export async function readPrivateFile(
  { platform }: CliProcess,
  file: string,
  { what, hint }: { what: string; hint: string },
): Promise<string | undefined> {
  try {
    const { mode } = await stat(file)
    const others = platform === "win32" ? 0 : mode & 0o077
    const shown = (mode & 0o777).toString(8)
    if (others !== 0) throw new CliError(`${file} ${what} and must be readable by you alone (mode 600); its mode is ${shown}`, { hint })
    return await readFile(file, "utf8")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
}

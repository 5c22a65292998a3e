import { readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import ignore from "ignore"
import { CliError } from "../io/failures.ts"

const ignoreFile = ".quaysideignore"
/** Names of our own, beside what is synchronized. */
export const ownPrefix = ".quayside-sync-"
const maxBytes = 65_536

export type IsIgnored = (path: string, isDirectory: boolean) => boolean

/** The rules of the folder's own file, in the syntax of `.gitignore`. */
export async function readIgnored(root: string): Promise<IsIgnored> {
  const file = join(root, ignoreFile)
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  )
  if (size > maxBytes) throw new CliError(`${file} may have ${maxBytes} bytes; it has ${size}.`)
  const rules = ignore().add(size === 0 ? "" : await readFile(file, "utf8"))
  return (path, isDirectory) => path.split("/").at(-1)?.startsWith(ownPrefix) === true || rules.ignores(isDirectory ? `${path}/` : path)
}

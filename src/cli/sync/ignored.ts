import { readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import ignore from "ignore"
import { foldFileName } from "#channel"
import { CliError } from "../io/failures.ts"

const ignoreFile = ".quaysideignore"
/** Names of our own, beside what is synchronized. */
export const syncFilePrefix = ".quayside-sync-"
const maxBytes = 65_536
/** The time of a comparison grows with a name's length to the power of their number. */
const maxStars = 3
const maxDoubleStars = 2

export type IsIgnored = (path: string, isDirectory: boolean) => boolean

/**
 * The rules of the folder's own file, in the syntax of `.gitignore`. Files of that name are always
 * ignored: everybody who may write to the dataset would otherwise decide what is sent from here.
 */
export async function readIgnored(root: string): Promise<IsIgnored> {
  const file = join(root, ignoreFile)
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  )
  if (size > maxBytes) throw new CliError(`${file} may have ${maxBytes} bytes; it has ${size}.`)
  const text = size === 0 ? "" : await readFile(file, "utf8")
  for (const [i, line] of text.split("\n").entries()) assertQuick(line, `${file}, line ${i + 1}`)
  const rules = ignore().add(text)
  return (path, isDirectory) => {
    const name = path.slice(path.lastIndexOf("/") + 1)
    return name.startsWith(syncFilePrefix) || foldFileName(name) === ignoreFile || rules.ignores(isDirectory ? `${path}/` : path)
  }
}

/** The file may be from somebody else, such as with a folder that was pulled. */
function assertQuick(line: string, where: string): void {
  const names = line.split("/").map((name) => name.match(/\*+/g) ?? [])
  const doubleStars = names.flat().filter((stars) => stars.length > 1).length
  if (names.every((stars) => stars.length <= maxStars) && doubleStars <= maxDoubleStars) return
  throw new CliError(
    `${where}: at most ${maxDoubleStars} "**", and at most ${maxStars} "*" between two slashes, can be compared; got ${JSON.stringify(line.slice(0, 100))}.`,
  )
}

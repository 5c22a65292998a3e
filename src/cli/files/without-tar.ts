import { lstat, mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { archiveRoot, type Multiplexer, type StreamError } from "#channel"
import type { Cli } from "../io/cli.ts"
import { CliError, exitCodes } from "../io/failures.ts"
import { ProgressLine } from "../io/progress.ts"
import { sanitize } from "../io/table.ts"
import { type ControlledRun, withConnection } from "../session/control.ts"
import { isConnectionLost, resumeAfterLosses } from "./resume.ts"
import { completeLocalFile, completeRemoteFile, type FilePair, type Transfer } from "./run-file.ts"
import { requirePrograms, runScript, streamScript } from "./run-script.ts"
import { assertPlainName, readLocalTree, type Tree } from "./trees.ts"

type CopyTree = (cli: Cli, transfer: Transfer) => Promise<number>

/** Copies a file or folder into a run whose image has no `tar`. Resolves with its bytes. */
export function sendWithoutTar(cli: Cli, run: ControlledRun, files: FilePair): Promise<number> {
  return copyOneByOne(cli, run, files, sendTree)
}

/** Copies a file or folder out of a run whose image has no `tar`, into a folder that is empty. */
export function receiveWithoutTar(cli: Cli, run: ControlledRun, { path, directory }: { path: string; directory: string }): Promise<number> {
  const name = archiveRoot(path).name
  return copyOneByOne(cli, run, { local: name === "." ? directory : join(directory, name), remote: path }, receiveTree)
}

/** A shell and common programs of the image are enough, but each file takes some calls of them. */
async function copyOneByOne(cli: Cli, run: ControlledRun, files: FilePair, copyTree: CopyTree): Promise<number> {
  cli.note("The run's image has no tar: files are copied one by one, and links are not.")
  using line = new ProgressLine(cli)
  const copy = (connection: Multiplexer, onProgress: (done: number) => void) => {
    let before = 0
    const onBytes = (position: number, size: number) => {
      line.amount(before + position)
      onProgress(before + position)
      if (position === size) before += size
    }
    return copyTree(cli, { ...files, connection, onBytes })
  }
  try {
    return await withConnection(cli, run.open(), (connection) => copy(connection, () => {}))
  } catch (error) {
    if (isConnectionLost(error)) return resumeAfterLosses(cli, run, copy)
    const lacksShell = (error as StreamError).code === "command_not_found"
    if (!lacksShell && (error as CliError).exitCode !== exitCodes.noCommand) throw error
    const lacking = lacksShell ? "The run's image has neither tar nor a shell." : (error as CliError).message
    throw new CliError(lacking, { exitCode: exitCodes.noCommand, hint: withoutRun })
  }
}

const withoutRun = "Install tar in the image. Datasets are reached without it: `quayside data push` and `pull`."

/** Folders that one call makes: their names are arguments of one command. */
const foldersPerCall = 100

async function sendTree(cli: Cli, transfer: Transfer): Promise<number> {
  const { connection, local, remote } = transfer
  const stats = await lstat(local)
  if (stats.isFile()) return completeRemoteFile(transfer)
  if (!stats.isDirectory()) throw new CliError(`${local} is neither a file nor a folder, and the run's image has no tar.`)
  const tree = await readLocalTree(local)
  const folders = [remote, ...tree.directories.map((path) => `${remote}/${path}`)]
  for (let at = 0; at < folders.length; at += foldersPerCall) {
    const args = folders.slice(at, at + foldersPerCall)
    await runScript({ connection, remote, script: `${requirePrograms("mkdir")}\nmkdir -p -- "$@"`, args })
  }
  return copyFiles(cli, tree, (path) => completeRemoteFile({ ...transfer, local: join(local, path), remote: `${remote}/${path}` }))
}

const kindOf = `if [ -f "$0" ] && [ ! -L "$0" ]; then echo file
elif [ ! -d "$0" ] || [ -L "$0" ]; then echo "it is neither a file nor a folder" >&2; exit 1; fi`

async function receiveTree(cli: Cli, transfer: Transfer): Promise<number> {
  const { connection, local, remote } = transfer
  const root = remote.replace(/\/+$/, "") || "/"
  const kind = await runScript({ connection, remote, script: kindOf })
  if (kind === "file\n") return receiveNewFile({ ...transfer, remote: root })
  const tree = await listInRun(connection, root)
  await mkdir(local, { recursive: true })
  for (const path of tree.directories) await mkdir(join(local, path), { recursive: true })
  return copyFiles(cli, tree, (path) => receiveNewFile({ ...transfer, local: join(local, path), remote: `${root}/${path}` }))
}

/** After a loss of the connection it is there already. */
async function receiveNewFile(transfer: Transfer): Promise<number> {
  await writeFile(transfer.local, "", { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error
  })
  return completeLocalFile(transfer)
}

async function copyFiles(
  cli: Cli,
  { files, skipped }: Pick<Tree, "skipped"> & { files: readonly { path: string }[] },
  copy: (path: string) => Promise<number>,
) {
  let bytes = 0
  for (const { path } of files) bytes += await copy(path)
  for (const path of skipped.slice(0, 10)) cli.note(`Skipped ${sanitize(path)}: neither a file nor a folder.`)
  if (skipped.length > 10) cli.note(`Skipped ${skipped.length - 10} more.`)
  return bytes
}

/** Beyond this, a run's list of its files is no list. */
const maxListBytes = 64 * 2 ** 20
const maxEntries = 1_000_000

interface RunTree {
  /** Parents come before what is in them. */
  directories: string[]
  files: { path: string }[]
  skipped: string[]
}

/** Lists a folder of the run. The answer may be anything, so each name is checked. */
async function listInRun(connection: Multiplexer, remote: string): Promise<RunTree> {
  const script = `${requirePrograms("find")}
cd "$0" && find . -type d -print0 && printf '\\000' && find . -type f -print0 && printf '\\000' && find . ! -type d ! -type f -print0`
  const chunks: Uint8Array[] = []
  let bytes = 0
  await streamScript({ connection, remote, script }, (data) => {
    bytes += data.length
    if (bytes > maxListBytes) throw tooManyFiles(remote)
    chunks.push(data)
  })
  const entries = Buffer.concat(chunks)
    .toString()
    .split("\0", maxEntries + 1)
  if (entries.length > maxEntries) throw tooManyFiles(remote)
  const lists: string[][] = [[], [], []]
  let part = 0
  for (const entry of entries.slice(0, -1)) {
    if (entry === "") part += 1
    else if (entry !== ".") lists[part]?.push(plainPath(entry))
  }
  const [directories = [], files = [], skipped = []] = lists
  return { directories, files: files.map((path) => ({ path })), skipped }
}

function tooManyFiles(remote: string): CliError {
  return new CliError(`${remote} has too many files to copy them one by one; copy its folders one by one.`)
}

/** A path below the folder, without its `./`. */
function plainPath(entry: string): string {
  const path = entry.replace(/^\.\//, "")
  for (const name of path.split("/")) assertPlainName(name)
  return path
}

import { lstat, readdir } from "node:fs/promises"
import { basename } from "node:path"
import { archiveRoot, type Multiplexer } from "#channel"
import type { Cli } from "../io/cli.ts"
import { CliError } from "../io/failures.ts"
import { ProgressLine } from "../io/progress.ts"
import type { ControlledRun } from "../session/control.ts"
import { localChecksum } from "./checksum.ts"
import type { ReceivedArchive } from "./received-archive.ts"
import { resumeAfterLosses } from "./resume.ts"
import { copyError, requirePrograms, runScript, streamScript } from "./run-script.ts"

/** A folder here, and its incomplete copy in a run. */
export interface FolderPair {
  local: string
  /** Absolute. */
  remote: string
}

/** Packs what a list names, which is ended by zero bytes, into the run. Resolves with its size. */
export type SendListed = (connection: Multiplexer, list: string) => Promise<number>

/**
 * Continues a copy of a folder into a run: files that are there with the same content and time are
 * not sent again. Resolves with the bytes that are there in the end.
 */
export async function resumeFolder(cli: Cli, run: ControlledRun, pair: FolderPair, send: SendListed): Promise<number> {
  return resumeAfterLosses(cli, run, async (connection, onProgress) => {
    const entries = await readEntries(pair.local)
    const complete = await completeFiles(connection, pair, entries)
    onProgress(complete.size)
    const rest = entries.filter((entry) => !complete.has(entry))
    const list = rest.map(({ path }) => `./${basename(pair.local)}${path}\0`).join("")
    const present = [...complete].reduce((sum, { size }) => sum + size, 0)
    return present + (await send(connection, list))
  })
}

interface Entry {
  /** Below the folder: empty for itself, otherwise it begins with `/`. */
  path: string
  isFile: boolean
  size: number
  /** In seconds. */
  modifiedAt: number
}

/** All that is in a folder here. Parents come before what is in them. */
async function readEntries(folder: string): Promise<Entry[]> {
  const entries: Entry[] = []
  const visit = async (path: string) => {
    const stats = await lstat(folder + path)
    entries.push({ path, isFile: stats.isFile(), size: stats.size, modifiedAt: Math.floor(stats.mtimeMs / 1_000) })
    if (stats.isDirectory()) for (const name of await readdir(folder + path)) await visit(`${path}/${name}`)
  }
  await visit("")
  return entries
}

async function completeFiles(connection: Multiplexer, { local, remote }: FolderPair, entries: readonly Entry[]): Promise<Set<Entry>> {
  const files = new Map(entries.filter(({ isFile }) => isFile).map((entry) => [entry.path, entry]))
  const there = await listInRun(connection, remote, files)
  const complete = new Set<Entry>()
  for (const [path, entry] of files) {
    const found = there.get(path)
    if (found?.modifiedAt === entry.modifiedAt && found.sha256 === (await localChecksum(local + path))) complete.add(entry)
  }
  return complete
}

interface FileInRun {
  modifiedAt?: number
  sha256?: string
}

/** Beyond this, a run's list of its files is no list. */
const maxListBytes = 2 ** 30
const maxLineCharacters = 16_384

/** Times and checksums of those of the files that are in the run. */
async function listInRun(connection: Multiplexer, remote: string, files: ReadonlyMap<string, Entry>): Promise<Map<string, FileInRun>> {
  const script = `${requirePrograms("find", "sha256sum", "stat")}
[ -d "$0" ] && [ ! -L "$0" ] || exit 0
cd "$0" && find . -type f -exec stat -c '%Y %n' {} + -exec sha256sum {} +`
  const found = new Map<string, FileInRun>()
  const decoder = new TextDecoder()
  let bytes = 0
  let rest = ""
  await streamScript({ connection, remote, script }, (data) => {
    bytes += data.length
    const lines = (rest + decoder.decode(data, { stream: true })).split("\n")
    rest = lines.pop() ?? ""
    if (bytes > maxListBytes || rest.length > maxLineCharacters) throw copyError(remote, "the list of its files is too long")
    for (const line of lines) addLine(found, files, line)
  })
  return found
}

/** Names with line breaks and backslashes are printed otherwise: such files are sent again. */
function addLine(found: Map<string, FileInRun>, files: ReadonlyMap<string, Entry>, line: string): void {
  const [, time, sum, path = ""] = /^(?:(-?\d{1,12}) |([0-9a-f]{64}) {2})\.(\/.+)$/.exec(line) ?? []
  if (!files.has(path)) return
  const known = found.get(path) ?? {}
  found.set(path, sum === undefined ? { ...known, modifiedAt: Number(time) } : { ...known, sha256: sum })
}

/**
 * Continues an archive of the path of a run where it broke. `tar` packs the same again as long as
 * nothing changes, which the checksum of the first part shows.
 */
export async function resumeArchive(cli: Cli, run: ControlledRun, path: string, archive: ReceivedArchive): Promise<number> {
  using line = new ProgressLine(cli)
  const { directory, name } = archiveRoot(path)
  return resumeAfterLosses(cli, run, async (connection, onProgress) => {
    const offset = archive.bytes
    const inRun = (script: string) => ({ connection, remote: path, script, args: [directory, name, String(offset)] })
    const isSame = (await runScript(inRun(firstPart))) === `${archive.checksum}  -\n`
    if (!isSame) throw new CliError(`${path} changed during the copy; copy it again.`)
    await streamScript(inRun(rest), async (data) => {
      await archive.write(data)
      onProgress(archive.bytes)
      line.amount(archive.bytes)
    })
    await archive.end()
    return archive.bytes
  })
}

const pack = 'tar -c -f - -C "$1" -- "$2"'
const firstPart = `${requirePrograms("head", "sha256sum", "tail")}
${pack} 2> /dev/null | head -c "$3" | sha256sum`
/** The exit code is that of `tar`. */
const rest = `exec 4>&1
code=$({ { ${pack}; echo $? >&3; } | tail -c "+$(($3 + 1))" >&4; } 3>&1)
exit "$code"`

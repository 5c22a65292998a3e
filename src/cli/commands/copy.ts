import { spawn } from "node:child_process"
import { once } from "node:events"
import { lstat, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises"
import { basename, dirname, join, resolve } from "node:path"
import type { Multiplexer } from "#channel"
import type { Cli } from "../io/cli.ts"
import { CliError, exitCodes } from "../io/failures.ts"
import { formatBytes, usageError } from "../io/formats.ts"
import { ProgressLine } from "../io/progress.ts"
import { type ControlledRun, controlRun, withConnection } from "../session/control.ts"

interface RunPath {
  run: string
  path: string
}

/** `RUN:/PATH`; undefined for a path of this machine. */
export function parseRunPath(text: string): RunPath | undefined {
  const at = text.indexOf(":/")
  return at < 1 ? undefined : { run: text.slice(0, at), path: text.slice(at + 1) }
}

/** Copies a file or folder into a directory, from this machine to a run or back. */
export async function copy(cli: Cli, source: string, target: string, { force = false }: { force?: boolean }): Promise<undefined> {
  const [from, to] = [parseRunPath(source), parseRunPath(target)]
  if ((from === undefined) === (to === undefined))
    throw usageError(`One of both must be in a run, as RUN:/PATH; got ${JSON.stringify(source)} and ${JSON.stringify(target)}`)
  const { run: name } = (from ?? to) as RunPath
  const run = await controlRun(cli, name)
  const bytes = from
    ? await receive(cli, run, { path: from.path, directory: resolve(target), isForced: force })
    : await send(cli, run, { path: resolve(source), directory: (to as RunPath).path })
  cli.show({ bytes }, () => `Copied ${formatBytes(bytes)}.`)
  return undefined
}

interface Receipt {
  /** The path in the run. */
  path: string
  directory: string
  isForced: boolean
}

/**
 * Unpacks into a new directory beside the target, and renames: no link that an earlier copy left in
 * the target is followed. The archive is checked here too, not by the server alone.
 */
async function receive(cli: Cli, run: ControlledRun, { path, directory, isForced }: Receipt): Promise<number> {
  await mkdir(directory, { recursive: true })
  const draft = await mkdtemp(join(directory, ".quayside-"))
  try {
    const bytes = await withConnection(cli, run.open(), (connection) => unpack(cli, connection, { path, directory: draft })).catch(
      (error: Error) => continueReceiving(cli, run, { error, path, draft }),
    )
    const names = await readdir(draft)
    assertRequestedNames(path, names)
    for (const name of names) await moveInto(join(draft, name), join(directory, name), isForced)
    return bytes
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** The copy of one file goes on after a loss of the connection; that of a folder does not. */
async function continueReceiving(
  cli: Cli,
  run: ControlledRun,
  { error, path, draft }: { error: Error; path: string; draft: string },
): Promise<number> {
  const { continueFile, isConnectionLost } = await import("../files/run-file.ts")
  const local = join(draft, basename(path))
  const isFile = await lstat(local).then(
    (found) => found.isFile(),
    () => false,
  )
  if (!isConnectionLost(error) || !isFile) throw error
  return continueFile(cli, run, "out", { local, remote: path.replace(/\/+$/, "") })
}

/** A run's `tar` may answer anything, such as a `.bashrc` for a copy into the home. */
export function assertRequestedNames(path: string, names: readonly string[]): void {
  const asked = basename(path)
  // The contents of a directory have any names.
  if (asked === "." || asked === "") return
  const other = names.find((name) => name !== asked)
  if (other !== undefined)
    throw new CliError(`The run sent ${JSON.stringify(other)} instead of ${JSON.stringify(asked)}; nothing was copied.`)
}

async function moveInto(from: string, to: string, isForced: boolean): Promise<void> {
  const isThere = await lstat(to).then(
    () => true,
    () => false,
  )
  if (isThere && !isForced) throw new CliError(`${to} is there already.`, { exitCode: exitCodes.conflict, hint: "--force replaces it." })
  await rm(to, { recursive: true, force: true })
  await rename(from, to)
}

async function unpack(cli: Cli, connection: Multiplexer, { path, directory }: { path: string; directory: string }): Promise<number> {
  const { TarCheck, openCopy } = await import("#channel")
  const stream = openCopy(connection, "out", path)
  await stream.accepted
  const check = new TarCheck()
  const tar = startTar(["-xf", "-", "--no-same-owner", "--no-same-permissions", "-C", directory])
  using line = new ProgressLine(cli)
  let bytes = 0
  try {
    for await (const { data } of stream) {
      check.check(data)
      bytes += data.length
      line.amount(bytes)
      if (!tar.child.stdin.write(data)) await Promise.race([once(tar.child.stdin, "drain"), tar.ended])
    }
    check.end()
    await stream.done
    tar.child.stdin.end()
    await tar.ended
    return bytes
  } catch (error) {
    tar.child.kill()
    // It writes nothing any more when a continuation reads the file.
    await tar.ended.catch(() => {})
    throw error
  }
}

interface Shipment {
  path: string
  /** In the run. */
  directory: string
  /** Whether the path is a file, and neither a folder nor a link. */
  isFile: boolean
}

async function send(cli: Cli, run: ControlledRun, { path, directory }: Omit<Shipment, "isFile">): Promise<number> {
  const isFile = (await lstat(path)).isFile()
  try {
    return await withConnection(cli, run.open(), (connection) => pack(cli, connection, { path, directory, isFile }))
  } catch (error) {
    const { continueFile, isConnectionLost } = await import("../files/run-file.ts")
    if (!isConnectionLost(error) || !isFile) throw error
    return continueFile(cli, run, "in", { local: path, remote: `${directory.replace(/\/+$/, "")}/${basename(path)}` })
  }
}

async function pack(cli: Cli, connection: Multiplexer, { path, directory, isFile }: Shipment): Promise<number> {
  const { openCopy } = await import("#channel")
  const stream = openCopy(connection, "in", directory)
  await stream.accepted
  using line = new ProgressLine(cli)
  const write = (data: Uint8Array) => stream.write(data)
  let bytes: number
  if (isFile) {
    const { packFile } = await import("../files/pack-file.ts")
    bytes = await packFile(path, write, (done, size) => line.bytes(basename(path), done, size))
  } else bytes = await packFolder(path, write, (done) => line.amount(done))
  stream.end()
  await stream.done
  return bytes
}

async function packFolder(path: string, write: (data: Uint8Array) => Promise<void>, onBytes: (done: number) => void): Promise<number> {
  const tar = startTar(["-cf", "-", "-C", dirname(path), "--", basename(path)])
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

/** The system's own `tar`: Windows, macOS and Linux have one. */
function startTar(words: readonly string[]) {
  const child = spawn("tar", words, { stdio: ["pipe", "pipe", "pipe"] })
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

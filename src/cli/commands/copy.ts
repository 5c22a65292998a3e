import { lstat, mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises"
import { basename, join, resolve } from "node:path"
import type { Multiplexer, StreamError } from "#channel"
import type { ReceivedArchive } from "../files/received-archive.ts"
import type { Cli } from "../io/cli.ts"
import { CliError, exitCodes } from "../io/failures.ts"
import { formatBytes, usageError } from "../io/formats.ts"
import { ProgressLine } from "../io/progress.ts"
import { type ControlledRun, findControlledRun, withConnection } from "../session/control.ts"

interface PathInRun {
  run: string
  path: string
}

/** `RUN:/PATH`; undefined for a path of this machine. */
export function parsePathInRun(text: string): PathInRun | undefined {
  const at = text.indexOf(":/")
  return at < 1 ? undefined : { run: text.slice(0, at), path: text.slice(at + 1) }
}

/** Copies a file or folder into a directory, from this machine to a run or back. */
export async function copy(cli: Cli, source: string, target: string, { force = false }: { force?: boolean }): Promise<undefined> {
  const [from, to] = [parsePathInRun(source), parsePathInRun(target)]
  if ((from === undefined) === (to === undefined))
    throw usageError(`One of both must be in a run, as RUN:/PATH; got ${JSON.stringify(source)} and ${JSON.stringify(target)}`)
  const { run: name } = (from ?? to) as PathInRun
  const run = await findControlledRun(cli, name)
  const bytes = from
    ? await receive(cli, run, { path: from.path, directory: resolve(target), isForced: force })
    : await send(cli, run, { path: resolve(source), directory: (to as PathInRun).path })
  cli.show({ bytes }, () => `Copied ${formatBytes(bytes)}.`)
  return undefined
}

interface ReceiveOptions {
  /** The path in the run. */
  path: string
  directory: string
  isForced: boolean
}

/**
 * Unpacks into a new directory beside the target, and renames: no link that an earlier copy left in
 * the target is followed. The archive is checked here too, not by the server alone.
 */
async function receive(cli: Cli, run: ControlledRun, { path, directory, isForced }: ReceiveOptions): Promise<number> {
  const { ReceivedArchive } = await import("../files/received-archive.ts")
  await mkdir(directory, { recursive: true })
  const tempDirectory = await mkdtemp(join(directory, ".quayside-"))
  const archive = new ReceivedArchive(cli, { path, directory: tempDirectory })
  try {
    const bytes = await withConnection(cli, run.open(), (connection) => unpack(cli, connection, path, archive)).catch(
      async (error: Error) => {
        if (lacksTar(error))
          return (await import("../files/without-tar.ts")).receiveWithoutTar(cli, run, { path, directory: tempDirectory })
        return resumeReceiving(cli, run, { error, path, tempDirectory, archive })
      },
    )
    const names = await readdir(tempDirectory)
    assertRequestedNames(path, names)
    for (const name of names) await moveInto(join(tempDirectory, name), join(directory, name), isForced)
    return bytes
  } finally {
    await archive.abort()
    await rm(tempDirectory, { recursive: true, force: true })
  }
}

interface InterruptedReceive {
  error: Error
  path: string
  tempDirectory: string
  archive: ReceivedArchive
}

/** A file goes on by its own bytes, and a folder by those of its archive. */
async function resumeReceiving(cli: Cli, run: ControlledRun, { error, path, tempDirectory, archive }: InterruptedReceive): Promise<number> {
  const { isConnectionLost } = await import("../files/resume.ts")
  if (!isConnectionLost(error)) throw error
  if (!archive.isFile) return (await import("../files/run-folder.ts")).resumeArchive(cli, run, path, archive)
  const { resumeFile } = await import("../files/run-file.ts")
  await archive.abort()
  const local = join(tempDirectory, basename(path))
  // `tar` may not have begun it.
  await writeFile(local, "", { flag: "wx" }).catch(() => {})
  return resumeFile(cli, run, "out", { local, remote: path.replace(/\/+$/, "") })
}

function lacksTar(error: unknown): boolean {
  return (error as StreamError).code === "no_tar"
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

async function unpack(cli: Cli, connection: Multiplexer, path: string, archive: ReceivedArchive): Promise<number> {
  const { openCopy } = await import("#channel")
  const stream = openCopy(connection, "out", path)
  await stream.accepted
  using line = new ProgressLine(cli)
  for await (const { data } of stream) {
    await archive.write(data)
    line.amount(archive.bytes)
  }
  await stream.done
  await archive.end()
  return archive.bytes
}

interface SendOptions {
  path: string
  /** In the run. */
  directory: string
  /** Whether the path is a file, and neither a folder nor a link. */
  isFile: boolean
  /** The part of a folder that is packed, as for `packFolder`. */
  list?: string
}

async function send(cli: Cli, run: ControlledRun, { path, directory }: Pick<SendOptions, "path" | "directory">): Promise<number> {
  const isFile = (await lstat(path)).isFile()
  try {
    return await withConnection(cli, run.open(), (connection) => pack(cli, connection, { path, directory, isFile }))
  } catch (error) {
    const pair = { local: path, remote: `${directory.replace(/\/+$/, "")}/${basename(path)}` }
    if (lacksTar(error)) return (await import("../files/without-tar.ts")).sendWithoutTar(cli, run, pair)
    const { isConnectionLost } = await import("../files/resume.ts")
    if (!isConnectionLost(error)) throw error
    if (isFile) return (await import("../files/run-file.ts")).resumeFile(cli, run, "in", pair)
    const { resumeFolder } = await import("../files/run-folder.ts")
    return resumeFolder(cli, run, pair, (connection, list) => pack(cli, connection, { path, directory, isFile, list }))
  }
}

async function pack(cli: Cli, connection: Multiplexer, { path, directory, isFile, list }: SendOptions): Promise<number> {
  const { openCopy } = await import("#channel")
  const stream = openCopy(connection, "in", directory)
  await stream.accepted
  using line = new ProgressLine(cli)
  const { createArchiveWriter, packFile } = await import("../files/pack-file.ts")
  const write = createArchiveWriter(stream)
  let bytes: number
  if (isFile) {
    bytes = await packFile(path, write, (done, size) => line.bytes(basename(path), done, size))
  } else {
    const { packFolder } = await import("../files/local-tar.ts")
    const onBytes = (done: number) => line.amount(done)
    bytes = await packFolder(cli, { path, write, onBytes, ...(list ? { list } : {}) })
  }
  stream.end()
  await stream.done
  return bytes
}

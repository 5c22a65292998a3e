import { spawn } from "node:child_process"
import { once } from "node:events"
import { lstat, mkdir, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises"
import { basename, dirname, join, resolve } from "node:path"
import type { ChannelStream } from "#channel"
import type { Cli } from "../io/cli.ts"
import { CliError, exitCodes } from "../io/failures.ts"
import { formatBytes, usageError } from "../io/formats.ts"
import { ProgressLine } from "../io/progress.ts"
import { controlRun } from "../session/control.ts"

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
  const { run } = (from ?? to) as RunPath
  const { openCopy } = await import("#channel")
  const connection = await (await controlRun(cli, run)).open()
  try {
    const bytes = from
      ? await receive(cli, openCopy(connection, "out", from.path), { path: from.path, directory: resolve(target), isForced: force })
      : await send(cli, openCopy(connection, "in", (to as RunPath).path), resolve(source))
    cli.show({ bytes }, () => `Copied ${formatBytes(bytes)}.`)
  } finally {
    connection.close(1000, "")
  }
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
async function receive(cli: Cli, stream: ChannelStream, { path, directory, isForced }: Receipt): Promise<number> {
  await stream.accepted
  await mkdir(directory, { recursive: true })
  const draft = await mkdtemp(join(directory, ".quayside-"))
  try {
    const bytes = await unpack(cli, stream, draft)
    const names = await readdir(draft)
    assertRequestedNames(path, names)
    for (const name of names) await moveInto(join(draft, name), join(directory, name), isForced)
    return bytes
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
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

async function unpack(cli: Cli, stream: ChannelStream, directory: string): Promise<number> {
  const { TarCheck } = await import("#channel")
  const check = new TarCheck()
  const tar = startTar(["-xf", "-", "--no-same-owner", "-C", directory])
  using line = new ProgressLine(cli)
  let bytes = 0
  try {
    for await (const { data } of stream) {
      check.check(data)
      bytes += data.length
      line.text(formatBytes(bytes))
      if (!tar.child.stdin.write(data)) await Promise.race([once(tar.child.stdin, "drain"), tar.ended])
    }
    check.end()
    await stream.done
    tar.child.stdin.end()
    await tar.ended
    return bytes
  } catch (error) {
    tar.child.kill()
    throw error
  }
}

async function send(cli: Cli, stream: ChannelStream, path: string): Promise<number> {
  await stat(path)
  await stream.accepted
  const tar = startTar(["-cf", "-", "-C", dirname(path), "--", basename(path)])
  using line = new ProgressLine(cli)
  let bytes = 0
  try {
    for await (const chunk of tar.child.stdout) {
      await stream.write(chunk as Buffer)
      bytes += (chunk as Buffer).length
      line.text(formatBytes(bytes))
    }
    await tar.ended
    stream.end()
    await stream.done
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

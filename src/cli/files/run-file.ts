import { createHash, randomUUID } from "node:crypto"
import { createReadStream } from "node:fs"
import { chmod, lstat, open, rm, stat, utimes } from "node:fs/promises"
import { dirname, join } from "node:path"
import { copyBlockBytes, type Multiplexer, openFileCopy } from "#channel"
import type { Cli } from "../io/cli.ts"
import { CliError } from "../io/failures.ts"
import { ProgressLine } from "../io/progress.ts"
import type { ControlledRun } from "../session/control.ts"
import { localChecksum } from "./checksum.ts"
import { isConnectionLost, resumeAfterLosses } from "./resume.ts"
import { copyError, requirePrograms, runScript } from "./run-script.ts"

/** A regular file here, and one in a run, of which one is an incomplete copy of the other. */
export interface FilePair {
  local: string
  /** Absolute. */
  remote: string
}

export interface Transfer extends FilePair {
  connection: Multiplexer
  /** Called with the place in the file that was reached. */
  onBytes: (position: number, size: number) => void
}

/** Continues a copy of one file after each loss of the connection. Resolves with its size. */
export async function resumeFile(cli: Cli, run: ControlledRun, direction: "in" | "out", files: FilePair): Promise<number> {
  using line = new ProgressLine(cli)
  const continueCopy = direction === "in" ? completeRemoteFile : completeLocalFile
  try {
    return await resumeAfterLosses(cli, run, (connection, onProgress) => {
      const onBytes = (position: number, size: number) => {
        line.bytes(files.remote, position, size)
        onProgress(position)
      }
      return continueCopy({ ...files, connection, onBytes })
    })
  } catch (error) {
    if (direction === "in") cli.note(`If ${files.remote} is in the run, it is incomplete.`)
    throw error
  }
}

/** Nobody takes a file for complete that cannot be completed: it is removed from the run. */
export async function completeRemoteFile(transfer: Transfer): Promise<number> {
  try {
    return await sendRemainder(transfer)
  } catch (error) {
    if (!isConnectionLost(error)) await inRun(transfer, `rm -f "$0"`).catch(() => {})
    throw error
  }
}

/** An earlier `tar` may still write: the same bytes at the same places. */
async function sendRemainder(transfer: Transfer): Promise<number> {
  const { connection, local, remote, onBytes } = transfer
  const { size, mode, mtimeMs } = await stat(local)
  const present = await presentInRun(transfer, size)
  const isSame = present.bytes > 0 && present.sha256 === (await checksumOf(local, present.bytes))
  const offset = isSame ? present.bytes : 0
  if (offset === 0) await inRun(transfer, `rm -f "$0"`)
  const stream = openFileCopy(connection, "in", { path: remote, offset })
  await stream.accepted
  let sent = offset
  // A file that grows meanwhile would have no end.
  if (sent < size)
    for await (const chunk of createReadStream(local, { start: offset, end: size - 1, highWaterMark: 1 << 18 })) {
      await stream.write(chunk as Buffer)
      sent += (chunk as Buffer).length
      onBytes(sent, size)
    }
  stream.end()
  await stream.done
  const finish = `[ "$(sha256sum < "$0")" = "$1  -" ] || { echo "it changed during the copy" >&2; exit 1; }
chmod "$2" "$0" && touch -d "@$3" "$0"`
  await inRun(transfer, finish, await localChecksum(local), (mode & 0o777).toString(8), String(Math.floor(mtimeMs / 1_000)))
  return size
}

/** How many whole blocks of the file are in the run, and their checksum. */
async function presentInRun(transfer: Transfer, size: number): Promise<{ bytes: number; sha256: string }> {
  const script = `${requirePrograms("chmod", "dd", "head", "rm", "sha256sum", "touch", "wc")}
n=0
if [ -f "$0" ] && [ ! -L "$0" ]; then n=$(wc -c < "$0"); fi
n=$((n - n % $1))
if [ "$n" -eq 0 ] || [ "$n" -gt "$2" ]; then echo 0; else echo "$n $(head -c "$n" "$0" | sha256sum)"; fi`
  const answer = await inRun(transfer, script, String(copyBlockBytes), String(size))
  const [, bytes, sha256 = ""] = /^(\d{1,15})(?: ([0-9a-f]{64}) {2}-)?\n$/.exec(answer) ?? []
  const present = Number(bytes)
  if (!(present <= size) || present % copyBlockBytes !== 0)
    throw copyError(transfer.remote, `its programs answered ${JSON.stringify(answer.slice(0, 100))}`)
  return { bytes: present, sha256 }
}

export async function completeLocalFile(transfer: Transfer): Promise<number> {
  const { connection, local, remote, onBytes } = transfer
  // The run may have sent a link of the file's name, which would lead anywhere on this machine.
  if (!(await lstat(local)).isFile()) throw new CliError(`The run sent no file as ${remote}; nothing was copied.`)
  // `tar` may have made a file that its owner may not write.
  await chmod(local, 0o600)
  await using file = await open(local, "a+")
  const { size: present } = await file.stat()
  const { size, mode, modifiedAt, sha256 } = await inspectInRun(transfer, present)
  let received = present > 0 && present <= size && sha256 === (await checksumOf(local, present)) ? present : 0
  await file.truncate(received)
  const stream = openFileCopy(connection, "out", { path: remote, offset: received })
  for await (const { data } of stream) {
    received += data.length
    if (received > size) throw new CliError(`${remote} grew during the copy; copy it again.`)
    await file.appendFile(data)
    onBytes(received, size)
  }
  await stream.done
  const sum = await inRun(transfer, `sha256sum < "$0"`)
  if (sum !== `${await localChecksum(local)}  -\n`) throw new CliError(`${remote} changed during the copy; copy it again.`)
  await setMode(local, mode)
  await utimes(local, modifiedAt, modifiedAt)
  return received
}

interface RunFile {
  size: number
  mode: number
  /** In seconds. */
  modifiedAt: number
  /** Of as many bytes as were asked for. */
  sha256: string
}

async function inspectInRun(transfer: Transfer, bytes: number): Promise<RunFile> {
  const script = `${requirePrograms("head", "sha256sum", "stat", "tail")}
if [ ! -f "$0" ] || [ -L "$0" ]; then echo "it is no file any more" >&2; exit 1; fi
stat -c "%s %a %Y" "$0" && head -c "$1" "$0" | sha256sum`
  const answer = await inRun(transfer, script, String(bytes))
  const [, size, mode = "", modifiedAt, sha256 = ""] = /^(\d{1,15}) ([0-7]{1,4}) (-?\d{1,11})\n([0-9a-f]{64}) {2}-\n$/.exec(answer) ?? []
  if (size === undefined) throw copyError(transfer.remote, `its programs answered ${JSON.stringify(answer.slice(0, 100))}`)
  return { size: Number(size), mode: Number.parseInt(mode, 8) & 0o777, modifiedAt: Number(modifiedAt), sha256 }
}

/** Sets the mode, less what this process's umask takes from every new file. */
async function setMode(path: string, mode: number): Promise<void> {
  const sample = join(dirname(path), randomUUID())
  await using file = await open(sample, "wx", mode)
  await rm(sample)
  await chmod(path, (await file.stat()).mode & 0o777)
}

/** SHA-256 of the first bytes of a file here. */
async function checksumOf(path: string, bytes: number): Promise<string> {
  const hash = createHash("sha256")
  for await (const chunk of createReadStream(path, { end: bytes - 1 })) hash.update(chunk as Buffer)
  return hash.digest("hex")
}

function inRun({ connection, remote }: Transfer, script: string, ...args: string[]): Promise<string> {
  return runScript({ connection, remote, script, args })
}

import { archiveRoot, type ChannelStream, copyBlockBytes, type JsonObject, outputPart, StreamError, TarCheck, tarEnv } from "#channel"
import { bounds, describeValue } from "#contract"
import type { ExecProcess } from "#engine"
import { waitForTurn } from "#http"
import type { ConnectionContext } from "../context.ts"
import { invalidRequest } from "../request-fields.ts"
import { pacedInput } from "./paced-input.ts"
import { auditProgram, startProgram } from "./programs.ts"

const { copyOffsetBytes, copyPathCharacters } = bounds.control
const maxErrorBytes = 2_000

/** Copies files as a tar archive, or the rest of one file, out of a run or into it. */
export async function serveCopy(context: ConnectionContext, stream: ChannelStream, request: JsonObject): Promise<void> {
  const { direction, command, isArchive } = parseCopy(request)
  using _ = context.usage.addCopy()
  await auditProgram(context, "copy")
  const program = await start(context, command)
  const archive = isArchive ? new TarCheck() : undefined
  using window = context.usage.addWideWindow()
  try {
    stream.accept()
    stream.done.catch(() => program.close())
    if (direction === "in" && window) stream.widenWindow(bounds.control.wideWindowBytes.value)
    const copied = direction === "in" ? copyIn(context, stream, { program, archive }) : copyOut(context, stream, { program, archive })
    const error = await copied
    const exitCode = await program.exitCode
    if (exitCode !== 0) throw new StreamError("copy_failed", error.trim() || `${command[0]} ended with the code ${exitCode}`)
    stream.finish()
  } finally {
    await program.close()
  }
}

type Command = readonly [program: string, ...words: string[]]

interface CopyRequest {
  direction: "in" | "out"
  /** The image's program that reads or writes. */
  command: Command
  isArchive: boolean
}

function parseCopy(request: JsonObject): CopyRequest {
  const { direction, offset } = request
  const path = parsePath(request.path)
  if (direction !== "in" && direction !== "out") throw invalidRequest(`direction must be "in" or "out"; got ${describeValue(direction)}`)
  if (offset !== undefined) return { direction, command: fileCommand(direction, path, offset), isArchive: false }
  return { direction, command: direction === "in" ? ["tar", "-x", "-f", "-", "-C", path] : packCommand(path), isArchive: true }
}

/** Reads or writes a file from an offset on; what lies before it stays. */
function fileCommand(direction: "in" | "out", path: string, value: unknown): Command {
  if (direction === "out") return ["tail", "-c", `+${parseOffset(value, 1) + 1}`, path]
  const block = parseOffset(value, copyBlockBytes) / copyBlockBytes
  return ["dd", `of=${path}`, `bs=${copyBlockBytes}`, `seek=${block}`, "conv=notrunc"]
}

function parseOffset(value: unknown, unit: number): number {
  const isOffset = Number.isInteger(value) && (value as number) >= 0 && (value as number) <= copyOffsetBytes.value
  if (isOffset && (value as number) % unit === 0) return value as number
  const units = unit > 1 ? `, a multiple of ${unit}` : ""
  throw invalidRequest(`offset must be an integer from 0 to ${copyOffsetBytes.value}${units}; got ${describeValue(value)}`)
}

function packCommand(path: string): Command {
  const { directory, name } = archiveRoot(path)
  return ["tar", "-c", "-f", "-", "-C", directory, "--", name]
}

async function start(context: ConnectionContext, command: Command): Promise<ExecProcess> {
  if (command[0] !== "tar") return startProgram(context, { command })
  try {
    return await startProgram(context, { command, env: tarEnv })
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  try {
    // An engine may need a shell to set variables, and the image may have none.
    return await startProgram(context, { command })
  } catch (error) {
    if (!isMissing(error)) throw error
    throw new StreamError("no_tar", "The run's image has no tar, which copies files in and out; scp, sftp and `quayside cp` do without")
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof StreamError && error.code === "command_not_found"
}

/** Of an archive, passes on checked bytes only. Resolves with what the program complains about. */
async function copyIn(
  { caller }: ConnectionContext,
  stream: ChannelStream,
  { program, archive }: { program: ExecProcess; archive: TarCheck | undefined },
): Promise<string> {
  const errors = readErrors(program, caller.userId)
  for await (const data of pacedInput(stream, caller.userId)) {
    archive?.check(data)
    await program.write(data)
  }
  archive?.end()
  program.endInput()
  return errors
}

/** An image's own program may print as fast as it can. */
async function readErrors(program: ExecProcess, userId: number): Promise<string> {
  let text = ""
  for await (const { data } of program.output) {
    text = appended(text, data)
    await waitForTurn(userId, data, program)
  }
  return text
}

/** The run may answer with any bytes: its archive is checked like a client's. */
async function copyOut(
  { caller }: ConnectionContext,
  stream: ChannelStream,
  { program, archive }: { program: ExecProcess; archive: TarCheck | undefined },
): Promise<string> {
  let text = ""
  for await (const { stream: name, data } of program.output) {
    await waitForTurn(caller.userId, data, stream)
    if (name === "stderr") text = appended(text, data)
    else {
      archive?.check(data)
      await stream.write(data, outputPart.stdout)
    }
  }
  return text
}

function appended(text: string, data: Uint8Array): string {
  return text.length > maxErrorBytes ? text : text + Buffer.from(data).toString().slice(0, maxErrorBytes)
}

function parsePath(value: unknown): string {
  if (typeof value === "string" && value.startsWith("/") && value.length <= copyPathCharacters.value && !value.includes("\0")) return value
  throw invalidRequest(`path must be an absolute path in the run; got ${describeValue(value)}`)
}

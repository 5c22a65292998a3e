import { type ChannelStream, copyBlockBytes, type JsonObject, outputPart, StreamError, TarCheck } from "#channel"
import { bounds, describeValue } from "#contract"
import type { ExecProcess } from "#engine"
import type { ConnectionContext } from "../context.ts"
import { invalidRequest } from "../request-fields.ts"
import { auditProgram, startProgram } from "./programs.ts"
import { waitForTurn } from "./wait-for-turn.ts"

const { copyOffsetBytes, copyPathCharacters } = bounds.control
const maxErrorBytes = 2_000

/** Copies files as a tar archive, or the rest of one file, out of a run or into it. */
export async function serveCopy(context: ConnectionContext, stream: ChannelStream, request: JsonObject): Promise<void> {
  const { direction, command, isArchive } = readCopy(request)
  using _ = context.usage.addCopy()
  await auditProgram(context, "copy")
  const program = await start(context, command)
  const archive = isArchive ? new TarCheck() : undefined
  using window = context.usage.addWideWindow()
  try {
    stream.accept()
    stream.done.catch(() => program.close())
    if (direction === "in" && window) stream.widen(bounds.control.wideWindowBytes.value)
    const copied = direction === "in" ? copyIn(stream, program, archive) : copyOut(context, stream, { program, archive })
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

function readCopy(request: JsonObject): CopyRequest {
  const { direction, offset } = request
  const path = readPath(request.path)
  if (direction !== "in" && direction !== "out") throw invalidRequest(`direction must be "in" or "out"; got ${describeValue(direction)}`)
  if (offset !== undefined) return { direction, command: restCommand(direction, path, offset), isArchive: false }
  return { direction, command: direction === "in" ? ["tar", "-x", "-f", "-", "-C", path] : packCommand(path), isArchive: true }
}

/** Reads or writes a file from an offset on; what lies before it stays. */
function restCommand(direction: "in" | "out", path: string, value: unknown): Command {
  if (direction === "out") return ["tail", "-c", `+${readOffset(value, 1) + 1}`, path]
  const block = readOffset(value, copyBlockBytes) / copyBlockBytes
  return ["dd", `of=${path}`, `bs=${copyBlockBytes}`, `seek=${block}`, "conv=notrunc"]
}

function readOffset(value: unknown, unit: number): number {
  const isOffset = Number.isInteger(value) && (value as number) >= 0 && (value as number) <= copyOffsetBytes.value
  if (isOffset && (value as number) % unit === 0) return value as number
  const units = unit > 1 ? `, a multiple of ${unit}` : ""
  throw invalidRequest(`offset must be an integer from 0 to ${copyOffsetBytes.value}${units}; got ${describeValue(value)}`)
}

/** The archive holds the last name of the path; of a path that ends in `/.` only its content. */
function packCommand(path: string): Command {
  const trimmed = path.replace(/\/+$/, "")
  const slash = trimmed.lastIndexOf("/")
  const [directory, name] = trimmed === "" ? ["/", "."] : [trimmed.slice(0, slash) || "/", trimmed.slice(slash + 1)]
  return ["tar", "-c", "-f", "-", "-C", directory, "--", name]
}

async function start(context: ConnectionContext, command: Command): Promise<ExecProcess> {
  try {
    return await startProgram(context, { command })
  } catch (error) {
    if (command[0] !== "tar" || !(error instanceof StreamError) || error.code !== "command_not_found") throw error
    throw new StreamError("no_tar", "The run's image has no tar, which copies files in and out")
  }
}

/** Of an archive, passes on checked bytes only. Resolves with what the program complains about. */
async function copyIn(stream: ChannelStream, program: ExecProcess, archive: TarCheck | undefined): Promise<string> {
  const errors = readErrors(program)
  for await (const { data } of stream) {
    archive?.check(data)
    await program.write(data)
  }
  archive?.end()
  program.endInput()
  return errors
}

async function readErrors(program: ExecProcess): Promise<string> {
  let text = ""
  for await (const { data } of program.output) text = appended(text, data)
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

function readPath(value: unknown): string {
  if (typeof value === "string" && value.startsWith("/") && value.length <= copyPathCharacters.value && !value.includes("\0")) return value
  throw invalidRequest(`path must be an absolute path in the run; got ${describeValue(value)}`)
}

import { type ChannelStream, type JsonObject, outputPart, StreamError, TarCheck } from "#channel"
import { bounds, describeValue } from "#contract"
import type { ExecProcess } from "#engine"
import type { ConnectionContext } from "../context.ts"
import { invalid } from "../request-fields.ts"
import { pace } from "./pace.ts"
import { audit, startProgram } from "./programs.ts"

const maxPathLength = 4_096
const maxErrorBytes = 2_000

/** Copies files as a tar archive, out of the run or into one of its directories. */
export async function serveCopy(context: ConnectionContext, stream: ChannelStream, request: JsonObject): Promise<void> {
  const { direction } = request
  const path = readPath(request.path)
  if (direction !== "in" && direction !== "out") throw invalid(`direction must be "in" or "out"; got ${describeValue(direction)}`)
  using _ = context.usage.addCopy()
  await audit(context, "copy")
  const tar = await startTar(context, direction === "in" ? ["tar", "-x", "-f", "-", "-C", path] : packCommand(path))
  using window = context.usage.addWideWindow()
  try {
    stream.accept()
    stream.done.catch(() => tar.close())
    if (direction === "in" && window) stream.widen(bounds.control.wideWindowBytes.value)
    const copied = direction === "in" ? copyIn(stream, tar) : copyOut(context, stream, tar)
    const error = await copied
    const exitCode = await tar.exitCode
    if (exitCode !== 0) throw new StreamError("copy_failed", error.trim() || `tar ended with the code ${exitCode}`)
    stream.finish()
  } finally {
    await tar.close()
  }
}

/** The archive holds the last name of the path; of a path that ends in `/.` only its content. */
function packCommand(path: string): string[] {
  const trimmed = path.replace(/\/+$/, "")
  const slash = trimmed.lastIndexOf("/")
  const [directory, name] = trimmed === "" ? ["/", "."] : [trimmed.slice(0, slash) || "/", trimmed.slice(slash + 1)]
  return ["tar", "-c", "-f", "-", "-C", directory, "--", name]
}

async function startTar(context: ConnectionContext, command: readonly string[]): Promise<ExecProcess> {
  try {
    return await startProgram(context, { command })
  } catch (error) {
    if (!(error instanceof StreamError) || error.code !== "command_not_found") throw error
    throw new StreamError("no_tar", "The run's image has no tar, which copies files in and out")
  }
}

/** Passes on checked bytes only. Resolves with what tar complains about. */
async function copyIn(stream: ChannelStream, tar: ExecProcess): Promise<string> {
  const errors = readErrors(tar)
  const archive = new TarCheck()
  for await (const { data } of stream) {
    archive.check(data)
    await tar.write(data)
  }
  archive.end()
  tar.endInput()
  return errors
}

async function readErrors(tar: ExecProcess): Promise<string> {
  let text = ""
  for await (const { data } of tar.output) text = appended(text, data)
  return text
}

/** The run may answer with any bytes: its archive is checked like a client's. */
async function copyOut({ caller }: ConnectionContext, stream: ChannelStream, tar: ExecProcess): Promise<string> {
  let text = ""
  const archive = new TarCheck()
  for await (const { stream: name, data } of tar.output) {
    await pace(caller.userId, data, stream)
    if (name === "stderr") text = appended(text, data)
    else {
      archive.check(data)
      await stream.write(data, outputPart.stdout)
    }
  }
  return text
}

function appended(text: string, data: Uint8Array): string {
  return text.length > maxErrorBytes ? text : text + Buffer.from(data).toString().slice(0, maxErrorBytes)
}

function readPath(value: unknown): string {
  if (typeof value === "string" && value.startsWith("/") && value.length <= maxPathLength && !value.includes("\0")) return value
  throw invalid(`path must be an absolute path in the run; got ${describeValue(value)}`)
}

import { EngineError } from "../../engine.ts"
import type { ExecOutput } from "../../exec.ts"

const maxLineBytes = 10_000
const firstLineMs = 15_000

/** The connection to a program, as far as its beginning needs it. */
export interface FirstLineSource {
  output(): AsyncGenerator<ExecOutput>
  readonly exitCode: Promise<number>
  close(): void
}

/**
 * The first line, and the rest of the output. Errors may arrive before it, on their own channel.
 * `no shell` if the image has none. The shell is the image's own: it may print anything and without
 * end, or nothing for ever.
 */
export async function readFirstLine(
  channel: FirstLineSource,
  maxMs = firstLineMs,
): Promise<{ line: string; output: AsyncGenerator<ExecOutput> } | "no shell"> {
  const output = channel.output()
  const early: ExecOutput[] = []
  let earlyBytes = 0
  let text = Buffer.alloc(0)
  const late = setTimeout(() => channel.close(), maxMs)
  try {
    for await (const chunk of untilEnd(output)) {
      if (chunk.stream === "stderr") {
        early.push(chunk)
        earlyBytes += chunk.data.length
      } else text = Buffer.concat([text, chunk.data])
      const end = text.indexOf("\n")
      if (end < 0 && text.length + earlyBytes < maxLineBytes) continue
      const line = text.subarray(0, Math.max(0, end)).toString().trim()
      if (!/^Q(\d+|missing|directory)$/.test(line)) {
        const msg = "The shell of the image could not start the program"
        throw closeWith(channel, new EngineError("engine_error", msg, { detail: line.slice(0, maxLineBytes) }))
      }
      const rest: ExecOutput = { stream: "stdout", data: text.subarray(end + 1) }
      return { line, output: prepend([...early, ...(rest.data.length > 0 ? [rest] : [])], output) }
    }
  } finally {
    clearTimeout(late)
  }
  return channel.exitCode.then(
    () => {
      throw new EngineError("engine_error", "The program ended before it began")
    },
    (error: unknown) => {
      if (error instanceof EngineError && error.code === "command_not_found") return "no shell"
      throw error
    },
  )
}

/** For `throw`: closes the connection. */
export function closeWith(channel: Pick<FirstLineSource, "close">, error: EngineError): EngineError {
  channel.close()
  return error
}

/** Unlike the generator itself, it may be left and read on. */
async function* untilEnd(output: AsyncGenerator<ExecOutput>): AsyncGenerator<ExecOutput> {
  for (let next = await output.next(); !next.done; next = await output.next()) yield next.value
}

export async function* prepend(first: readonly ExecOutput[], rest: AsyncGenerator<ExecOutput>): AsyncGenerator<ExecOutput> {
  yield* first
  yield* rest
}

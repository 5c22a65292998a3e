import { EngineError } from "../../engine.ts"
import type { ExecOutput } from "../../exec.ts"

export interface ReadOutputOptions {
  maxBytes: number
  maxMs: number
  /** Ends the program's connection, and with it the output. */
  close: () => void
}

/**
 * All that a program prints to its standard output, then closes it. Rejects with an `EngineError`
 * beyond the bounds: programs come with the image, so any of them may print without end, or never
 * end.
 */
export async function readOutput(output: AsyncIterable<ExecOutput>, { maxBytes, maxMs, close }: ReadOutputOptions): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  let isLate = false
  const late = setTimeout(() => {
    isLate = true
    close()
  }, maxMs)
  try {
    for await (const { stream, data } of output) {
      bytes += data.length
      if (bytes > maxBytes) throw new EngineError("engine_error", `A program of the run printed more than ${maxBytes} bytes`)
      if (stream === "stdout") parts.push(data)
    }
    if (isLate) throw new EngineError("engine_error", `A program of the run did not end within ${maxMs} ms`)
    return Buffer.concat(parts).toString()
  } finally {
    clearTimeout(late)
    close()
  }
}

import type { ServerResponse } from "node:http"
import { bounds } from "#contract"
import { waitForTurn } from "../connections/turn-budget.ts"

export interface JsonLinesOptions {
  /** Whether the head is sent before the first line is there. */
  isLive: boolean
  /** Cuts the response off at once, even while its reader stalls. */
  signal: AbortSignal
}

/**
 * Sends values as JSON lines, no faster than they are read, in the person's part of each turn of
 * the event loop. An error before the head is thrown, so that a refusal can follow. A later one
 * cuts the response off, so that nobody takes it for whole.
 */
export async function sendJsonLines(
  response: ServerResponse,
  lines: AsyncIterable<unknown>,
  { isLive, signal, requestId, userId }: JsonLinesOptions & { requestId: string; userId: number },
): Promise<void> {
  const head = () =>
    response.writeHead(200, {
      "content-type": "application/x-ndjson",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-request-id": requestId,
    })
  if (signal.aborted) return void response.destroy()
  if (isLive) head().flushHeaders()
  const cut = () => void (response.headersSent && response.destroy())
  signal.addEventListener("abort", cut, { once: true })
  response.on("timeout", () => response.destroy())
  try {
    for await (const line of lines) {
      if (!response.headersSent) head()
      if (response.destroyed) return
      const text = `${JSON.stringify(line)}\n`
      if (!response.write(text)) await drained(response)
      await waitForTurn(userId, text, response)
    }
    if (!response.headersSent) head()
    response.end()
  } catch (error) {
    if (!response.headersSent) throw error
    response.destroy()
  } finally {
    signal.removeEventListener("abort", cut)
  }
}

/**
 * Closes the connection of a reader that reads nothing. The connection stays open for hours if no
 * line is written. A long response has thousands of such waits, so none keeps anything.
 */
function drained(response: ServerResponse): Promise<void> {
  response.setTimeout(bounds.texts.unreadAnswerMs.value)
  return new Promise((resolve) => {
    const over = () => {
      response.off("drain", over).off("close", over).setTimeout(0)
      resolve()
    }
    response.on("drain", over).on("close", over)
  })
}

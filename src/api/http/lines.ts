import { once } from "node:events"
import type { ServerResponse } from "node:http"
import { bounds } from "#contract"
import type { JsonLines } from "../rendered.ts"

/**
 * Sends lines as they come, no faster than they are read. What fails before the head is sent is
 * thrown, so that it is answered as a refusal; what fails later cuts the answer off, so that nobody
 * takes it for whole.
 */
export async function sendLines(response: ServerResponse, { lines, options }: JsonLines<unknown>, requestId: string): Promise<void> {
  const { isLive, signal } = options
  const head = () =>
    response.writeHead(200, {
      "content-type": "application/x-ndjson",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-request-id": requestId,
    })
  if (isLive) head().flushHeaders()
  const cut = () => void (response.headersSent && response.destroy())
  signal.addEventListener("abort", cut, { once: true })
  // Listened to once: with a listener for each wait a long answer would gather thousands.
  const closed = once(response, "close").catch(() => {})
  response.on("timeout", () => response.destroy())
  try {
    for await (const line of lines) {
      if (!response.headersSent) head()
      if (response.destroyed) return
      if (!response.write(`${JSON.stringify(line)}\n`)) await drained(response, closed)
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
 * A reader that takes nothing loses the connection; one whose run says nothing for hours keeps it.
 */
async function drained(response: ServerResponse, closed: Promise<unknown>): Promise<void> {
  response.setTimeout(bounds.texts.unreadAnswerMs.value)
  await Promise.race([once(response, "drain").catch(() => {}), closed])
  response.setTimeout(0)
}

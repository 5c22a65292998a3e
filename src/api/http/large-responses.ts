import { once } from "node:events"
import type { ServerResponse } from "node:http"
import { setImmediate as yieldToOthers } from "node:timers/promises"
import { closeIfUnread } from "#http"
import type { LongList } from "../answer-forms.ts"
import { type SendOptions, send, toRawHeaders } from "./send.ts"

/**
 * Sends a large text; resolves when the client has read it or has disconnected.
 */
export async function sendLargeText(
  response: ServerResponse,
  text: string,
  { status, ...options }: SendOptions & { status: number },
): Promise<void> {
  const over = ended(response)
  send(response, status, text, options)
  await over
}

/**
 * Sends a list slice by slice, no faster than it is read. An error before the head is thrown, so
 * that a refusal can follow. A later one cuts the response off: it must not look complete.
 */
export async function sendLongList(
  response: ServerResponse,
  list: LongList<unknown>,
  options: SendOptions & { isHead: boolean },
): Promise<void> {
  const head = toRawHeaders(options)
  if (options.isHead) return void response.writeHead(200, head).end()
  const over = ended(response)
  closeIfUnread(response)
  let before = '{"data":['
  for (let at = 0; at < list.slices; at += 1) {
    const objects = await list.read(at)
    if (response.destroyed) return
    if (!response.headersSent) response.writeHead(200, head)
    for (const object of objects) {
      if (!response.write(before + JSON.stringify(object))) await Promise.race([once(response, "drain").catch(() => {}), over])
      before = ","
      if (response.destroyed) return
    }
    // Other requests run between slices, even if the client reads faster than slices are made.
    await yieldToOthers()
  }
  if (!response.headersSent) response.writeHead(200, head)
  response.end(`${before === "," ? "" : before}],${JSON.stringify(list.rest).slice(1)}`)
  await over
}

function ended(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) return resolve()
    response.once("finish", resolve)
    response.once("close", resolve)
  })
}

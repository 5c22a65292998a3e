import { once } from "node:events"
import type { ServerResponse } from "node:http"
import { setImmediate as turn } from "node:timers/promises"
import { closeIfUnread } from "#http"
import type { LongList } from "../answer-forms.ts"
import { type SendOptions, send, toRawHeaders } from "./send.ts"

/**
 * Sends an answer that is large and whole; resolves when it has been taken or its reader is gone.
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
 * Sends a list slice by slice, no faster than it is read. Errors before the head are thrown and
 * answered; later ones cut the answer off, so that nobody takes it for whole.
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
    // Others have their turn between slices, also where the reader is faster than they are made.
    await turn()
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

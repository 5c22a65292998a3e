import { once } from "node:events"
import type { ServerResponse } from "node:http"
import { closeIfUnread } from "#http"
import { HeavyWorkQueue } from "#kit"
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

/** Text that is made in one turn of the event loop; a single object may be longer. */
const textPerTurn = 64 * 1024
const turns = new HeavyWorkQueue()

/**
 * Sends a list slice by slice, no faster than it is read, and in turns with all lists of the
 * person: those who read fast must not delay everybody's requests. An error before the head is
 * thrown, so that a refusal can follow. A later one cuts the response off: it must not look
 * complete.
 */
export async function sendLongList(
  response: ServerResponse,
  list: LongList<unknown>,
  options: SendOptions & { isHead: boolean; userId: number },
): Promise<void> {
  const head = toRawHeaders(options)
  if (options.isHead) return void response.writeHead(200, head).end()
  const over = ended(response)
  closeIfUnread(response)
  let before = '{"data":['
  for (let at = 0; at < list.slices; at += 1) {
    const objects = await turns.run(options.userId, () => list.read(at))
    if (response.destroyed) return
    if (!response.headersSent) response.writeHead(200, head)
    for (let next = 0; next < objects.length; ) {
      const isDrained = await turns.run(options.userId, () => {
        let text = ""
        for (; next < objects.length && text.length < textPerTurn; next += 1) {
          text += before + JSON.stringify(objects[next])
          before = ","
        }
        return response.destroyed || response.write(text)
      })
      if (!isDrained) await Promise.race([once(response, "drain").catch(() => {}), over])
      if (response.destroyed) return
    }
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

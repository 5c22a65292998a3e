import type { IncomingMessage } from "node:http"
import type { Readable } from "node:stream"
import { ReadableStream } from "node:stream/web"
import type { HttpAnswer, SendRequest } from "#client"

/**
 * Sends a request by `node:http`. Node's `fetch` loads a library first, which takes longer than
 * most commands need altogether. A redirection is an error: the token belongs to one server.
 */
export async function sendByHttp(url: string, { method, headers, body, signal }: SendRequest): Promise<HttpAnswer> {
  const { request } = url.startsWith("https:") ? await import("node:https") : await import("node:http")
  /** As `fetch` reports it. */
  const failed = (error: Error): never => {
    signal?.throwIfAborted()
    throw new TypeError("fetch failed", { cause: error })
  }
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request(url, { method, headers, signal }, resolve).on("error", reject).end(body)
  const incoming = await promise.catch(failed)
  const { statusCode: status = 0 } = incoming
  if (status >= 300 && status < 400) {
    incoming.destroy()
    throw new TypeError("fetch failed", { cause: new Error(`The server redirects to ${incoming.headers.location}`) })
  }
  const text = async () => Buffer.concat(await incoming.toArray().catch(failed)).toString()
  return {
    status,
    headers: { get: (name) => headerOf(incoming, name) },
    get body() {
      return ReadableStream.from(chunksOf(incoming, failed)) as HttpAnswer["body"]
    },
    text,
    json: async () => JSON.parse(await text()),
  }
}

function headerOf({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name.toLowerCase()]
  return value === undefined ? null : String(value)
}

async function* chunksOf(incoming: Readable, failed: (error: Error) => never): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of incoming) yield chunk as Buffer
  } catch (error) {
    failed(error as Error)
  }
}

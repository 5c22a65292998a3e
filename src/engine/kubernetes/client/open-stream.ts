import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import type { Agent, RequestOptions } from "node:https"
import type { ClusterClient } from "./cluster-client.ts"

const { request: send } = process.getBuiltinModule("node:https")

export interface StreamRequest {
  url: URL
  signal?: AbortSignal | undefined
  /** Time until the answer begins. Default 15,000. */
  timeoutMs?: number
  /** Whether any certificate will do. Default false. */
  skipsTlsVerification?: boolean
  /** Default: each answer has a connection of its own. */
  agent?: Agent
}

/** An answer that did not have status 200; `body` is its beginning. */
class StreamRefusedError extends Error {
  override readonly name = "StreamRefusedError"
  readonly code: number
  readonly body: string

  constructor(code: number, body: string) {
    super(`HTTP status ${code}`)
    this.code = code
    this.body = body
  }
}

const maxErrorBytes = 10_000

/**
 * Opens an answer that is read as it arrives, with the credentials of the kubeconfig. The library's
 * own call for logs has no listener for a connection that breaks, which would end the process.
 */
export async function openStream(
  client: ClusterClient,
  { url, signal, timeoutMs = 15_000, skipsTlsVerification = false, agent }: StreamRequest,
): Promise<IncomingMessage> {
  const options: RequestOptions = { headers: {} }
  await client.config.applyToHTTPSOptions(options)
  const request = send(url, {
    ...options,
    ...(skipsTlsVerification && { rejectUnauthorized: false }),
    ...(signal && { signal }),
    ...(agent && { agent }),
  })
  const late = setTimeout(() => request.destroy(new Error(`The answer took longer than ${timeoutMs} ms`)), timeoutMs)
  try {
    request.end()
    const [response] = (await once(request, "response")) as [IncomingMessage]
    request.on("error", () => {})
    if (response.statusCode === 200) return response
    throw new StreamRefusedError(response.statusCode ?? 0, await beginningOf(response))
  } finally {
    clearTimeout(late)
  }
}

/** The URL of a path of the API server. */
export function apiUrl(client: ClusterClient, path: string, query: Readonly<Record<string, string>> = {}): URL {
  const url = new URL(path, client.config.getCurrentCluster()?.server)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url
}

async function beginningOf(response: IncomingMessage): Promise<string> {
  let text = ""
  for await (const part of response) {
    text += part
    if (text.length > maxErrorBytes) break
  }
  return text
}

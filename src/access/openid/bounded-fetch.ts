import type { CustomFetchOptions } from "openid-client"

/**
 * Ten times the largest real document: metadata and keys have some kilobytes, tokens of people in
 * thousands of groups some hundred.
 */
const maxResponseBytes = 1024 * 1024

/**
 * `fetch` with a limit on the response. A body of more than 1 MiB rejects with a `TypeError`, as an
 * unreachable host does; the rest of the body is not read.
 */
export async function boundedFetch(url: string, options: CustomFetchOptions): Promise<Response> {
  const answer = await fetch(url, options as RequestInit)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of answer.body ?? []) {
    size += chunk.length
    if (size > maxResponseBytes) throw new TypeError(`The response of ${new URL(url).host} has more than ${maxResponseBytes} bytes`)
    chunks.push(chunk)
  }
  const { status, statusText, headers } = answer
  return new Response(answer.body === null ? null : Buffer.concat(chunks), { status, statusText, headers })
}

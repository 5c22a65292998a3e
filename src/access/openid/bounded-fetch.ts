import type { CustomFetchOptions } from "openid-client"

/**
 * No document of a provider is a tenth of it: metadata and keys have some kilobytes, tokens of
 * people in thousands of groups some hundred.
 */
const answerMax = 1024 * 1024

/**
 * `fetch` of answers that have an end. Rejects with a `TypeError`, as it does where nobody answers,
 * on one of more than 1 MiB, before the rest of it is read.
 */
export async function boundedFetch(url: string, options: CustomFetchOptions): Promise<Response> {
  const answer = await fetch(url, options as RequestInit)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of answer.body ?? []) {
    size += chunk.length
    if (size > answerMax) throw new TypeError(`The answer of ${new URL(url).host} has more than ${answerMax} bytes`)
    chunks.push(chunk)
  }
  const { status, statusText, headers } = answer
  return new Response(answer.body === null ? null : Buffer.concat(chunks), { status, statusText, headers })
}

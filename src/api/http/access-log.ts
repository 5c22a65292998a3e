import type { Clock } from "#kit"
import type { RequestContext } from "./request-context.ts"

/** The greatest length in the log of a path that a caller chose. */
const maxPathLength = 200

/**
 * Writes a line for each request in the format of the logger: method, path, status, milliseconds,
 * request ID, user and address, never the query, a header or a body. The line is built as text,
 * which is faster: only a path that a caller chose needs escaping.
 */
export class AccessLog {
  readonly #write: (line: string) => void
  readonly #clock: Clock
  #at = 0
  #time = ""

  constructor(write: (line: string) => void, clock: Clock) {
    this.#write = write
    this.#clock = clock
  }

  /**
   * `isKnown`: the path is in the table, so that its caller chose no part of it. Status 0: the
   * caller disconnected before the answer.
   */
  note(requestContext: RequestContext, isKnown: boolean, milliseconds: number): void {
    const { request, response, requestId, userName, address } = requestContext
    const path = isKnown ? `"${requestContext.path}"` : plainPath(requestContext.path)
    const status = requestContext.isStream || response.headersSent ? response.statusCode : 0
    this.#write(
      `{"time":"${this.#now()}","level":"info","method":"${request.method}","path":${path},"status":${status},"ms":${milliseconds.toFixed(2)},"requestId":"${requestId}","user":"${userName}","address":"${address}","msg":"request"}\n`,
    )
  }

  /** Many requests end in the same millisecond. */
  #now(): string {
    const at = this.#clock.now()
    if (at !== this.#at) {
      this.#at = at
      this.#time = new Date(at).toISOString()
    }
    return this.#time
  }
}

/**
 * Removes tokens that somebody pasted into a path, also percent-encoded ones, and every word that
 * is as long as a secret.
 */
function plainPath(path: string): string {
  const plain = path.replaceAll(/%([2-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  return JSON.stringify(plain.replaceAll(/(q[sf]_)[\w.-]+|[\w-]{40,}/g, "$1…").slice(0, maxPathLength))
}

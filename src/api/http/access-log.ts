import type { Clock } from "#kit"
import type { RequestContext } from "./request-context.ts"

/** The greatest length of an unknown path in the log. */
const maxPathLength = 200

/**
 * A line for each request, in the form of the logger's: method, path, status, milliseconds, request
 * ID, who and from where. Never the query, a header or a body. It is put together as text, since it
 * is made for every request: all its parts but an unknown path are known to need no escaping.
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
   * `isKnown`: the path is one of the table's. Status 0: the caller went away before there was an
   * answer.
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
 * A token that was pasted into a path stays out of the log, whatever it is for and however it is
 * written; so does all that is as long as a secret.
 */
function plainPath(path: string): string {
  const plain = path.replaceAll(/%([2-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  return JSON.stringify(plain.replaceAll(/(q[sf]_)[\w.-]+|[\w-]{40,}/g, "$1…").slice(0, maxPathLength))
}

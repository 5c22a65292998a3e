import type { OutgoingHttpHeaders, ServerResponse } from "node:http"
import { ClientGoneError } from "../failures.ts"

const chunkCharacters = 32_768

/**
 * Sends a text that is produced in pieces. Nothing is sent before the first 32 Ki characters. A
 * short response therefore has a length, and an early failure can still be reported.
 */
export class BufferedResponse {
  readonly #response: ServerResponse
  readonly #status: number
  readonly #headers: OutgoingHttpHeaders
  #text = ""

  constructor(response: ServerResponse, options: { status: number; headers: OutgoingHttpHeaders }) {
    this.#response = response
    this.#status = options.status
    this.#headers = options.headers
  }

  /** The caller waits for a returned promise: the client reads more slowly than the text grows. */
  write(text: string): Promise<void> | undefined {
    this.#text += text
    if (this.#text.length < chunkCharacters) return undefined
    return this.#send()
  }

  #send(): Promise<void> | undefined {
    if (!this.#response.headersSent) this.#response.writeHead(this.#status, this.#headers)
    const text = this.#text
    this.#text = ""
    if (this.#response.destroyed) throw new ClientGoneError()
    return this.#response.write(text) ? undefined : drained(this.#response)
  }

  end(): void {
    if (this.#response.headersSent) {
      this.#response.end(this.#text)
      return
    }
    const body = Buffer.from(this.#text)
    this.#response.writeHead(this.#status, { ...this.#headers, "Content-Length": body.length })
    this.#response.end(body)
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void) => () => {
      response.off("drain", onDrain).off("close", onClose)
      finish()
    }
    const onDrain = settle(resolve)
    const onClose = settle(() => reject(new ClientGoneError()))
    response.once("drain", onDrain).once("close", onClose)
  })
}

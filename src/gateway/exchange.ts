import { hasBody } from "#http"
import type { Call } from "./call.ts"
import type { Core } from "./core.ts"
import type { Opening } from "./openings.ts"
import type { Passage } from "./passage.ts"
import { sendFailure, unavailable } from "./refusals.ts"
import { RequestBody } from "./request-body.ts"
import { requestHead } from "./request-headers.ts"
import { answerHeaders, answerTrailers } from "./response-headers.ts"
import { openTunnel } from "./tunnel.ts"
import { type AnswerHead, BadAnswer } from "./upstream/answer-head.ts"
import type { AnswerHandler, Connection } from "./upstream/connection.ts"

/** Sends a request on to the run's program and the answer back, as each side can take it. */
export function exchange(core: Core, call: Call, passage: Passage): void {
  new Exchange(core, call, passage).start()
}

class Exchange implements AnswerHandler, Opening {
  readonly #core: Core
  readonly #call: Call
  readonly #passage: Passage
  readonly #mayRepeat: boolean
  readonly #close: () => void
  #connection: Connection | undefined
  #hasHead = false
  /** The beginning of the body is held until it is known whether it is all. */
  #first: Buffer | undefined
  #isFlushed = false
  readonly #body: RequestBody | undefined
  #readerSince: number | undefined

  constructor(core: Core, call: Call, passage: Passage) {
    this.#core = core
    this.#call = call
    this.#passage = passage
    if (hasBody(call.request)) this.#body = new RequestBody(call, passage, core.clock)
    this.#mayRepeat = this.#body === undefined && /^(?:GET|HEAD|OPTIONS)$/.test(call.request.method ?? "")
    this.#close = core.openings.add(passage.visitor, passage.target, this)
  }

  start(): void {
    const { response, expects } = this.#call
    this.#core.activity.note(this.#passage.target.id)
    response.on("close", () => this.#gone())
    response.on("drain", () => {
      this.#readerSince = response.writableEnded ? this.#core.clock.now() : undefined
      this.#connection?.resume()
    })
    this.#send(this.#core.pools.take(this.#upstream(), { mayRepeat: this.#mayRepeat }))
    if (expects) response.writeContinue()
    if (this.#connection === undefined) return
    if (this.#body) this.#body.start(this.#connection)
    else this.#connection.endBody()
  }

  get waitingSince(): number | undefined {
    return this.#body?.waitingSince ?? this.#readerSince
  }

  cut(): void {
    this.#call.response.destroy()
    this.#gone()
  }

  onHead(head: AnswerHead): void {
    if (head.status === 101) return void this.#switch(head)
    this.#hasHead = true
    const { response, request } = this.#call
    const { host = "", "sec-fetch-site": site } = request.headers
    const { trustworthy } = this.#core.addresses
    const hasTrailers = head.framing.kind === "chunked" && request.httpVersion === "1.1"
    const options = { passage: this.#passage, host, trustworthy, isBrowser: site !== undefined, hasTrailers, renewal: this.#renewal() }
    response.writeHead(head.status, head.message, answerHeaders(head, options))
  }

  onData(chunk: Buffer): void {
    if (this.#first === undefined && !this.#isFlushed) this.#first = Buffer.from(chunk)
    else this.#write(Buffer.from(chunk))
  }

  /** A program may think long, or stream events: what it said so far goes out. */
  onPause(): void {
    if (this.#isFlushed || !this.#hasHead) return
    if (this.#first === undefined) this.#call.response.flushHeaders()
    this.#flush()
  }

  onEnd(trailers: string[]): void {
    this.#connection = undefined
    this.#body?.stop()
    const { response } = this.#call
    if (trailers.length > 0) response.addTrailers(answerTrailers(trailers))
    const last = this.#first
    this.#first = undefined
    if (last === undefined) response.end()
    else response.end(last)
    if (!response.writableFinished) this.#readerSince ??= this.#core.clock.now()
  }

  onDrain(): void {
    this.#body?.goOn()
  }

  onFail(error: Error): void {
    const isStale = this.#connection?.isStale ?? false
    this.#connection = undefined
    if (isStale && this.#mayRepeat && this.#isStillThere()) return void this.#repeat()
    this.#core.logger.debug({ err: error, run: this.#passage.target.id }, "a run's program did not answer")
    this.#body?.stop()
    if (this.#hasHead) this.#call.response.destroy()
    else sendFailure(this.#core, this.#call, unavailable(error instanceof BadAnswer ? "malformed" : "silent"))
  }

  #upstream() {
    return { key: this.#passage.target.key, address: this.#passage.address }
  }

  #send(connection: Connection): void {
    const { request, upgrade } = this.#call
    const options = {
      passage: this.#passage,
      forwardedFor: this.#core.proxies.forwardedFor(request),
      scheme: this.#core.addresses.appsUrl.protocol.slice(0, -1),
      isUpgrade: upgrade !== undefined,
    }
    this.#connection = connection
    connection.begin({ method: request.method ?? "", head: requestHead(request, options) }, this)
  }

  #isStillThere(): boolean {
    const { address, target } = this.#passage
    const now = this.#core.host.byKey(target.key)?.address
    return !this.#call.response.destroyed && now?.host === address.host && now.port === address.port
  }

  #repeat(): void {
    this.#send(this.#core.pools.open(this.#upstream()))
    this.#connection?.endBody()
  }

  #flush(): void {
    this.#isFlushed = true
    const first = this.#first
    this.#first = undefined
    if (first !== undefined) this.#write(first)
  }

  #write(chunk: Buffer): void {
    if (!this.#isFlushed) this.#flush()
    if (this.#call.response.write(chunk)) return
    this.#readerSince ??= this.#core.clock.now()
    this.#connection?.pause()
  }

  #switch(head: AnswerHead): void {
    const connection = this.#connection
    const { upgrade } = this.#call
    if (connection === undefined || upgrade === undefined) throw new BadAnswer("a change of protocol that nobody asked for")
    this.#close()
    openTunnel(this.#core, { call: { ...this.#call, upgrade }, passage: this.#passage, connection, head, renewal: this.#renewal() })
    this.#connection = undefined
  }

  #renewal(): string | undefined {
    const { session } = this.#passage
    return session && this.#core.sessionsOf(this.#passage.target).renewal(session)
  }

  #gone(): void {
    this.#close()
    this.#body?.stop()
    this.#connection?.destroy()
    this.#connection = undefined
  }
}

import { hasBody } from "#http"
import type { GatewayContext } from "../context.ts"
import type { GatewayRequest } from "../gateway-request.ts"
import { sendFailure, unavailable } from "../refusals.ts"
import type { OpenConnection } from "../sessions/connection-registry.ts"
import type { ResponseHandler, UpstreamConnection } from "../upstream/connection.ts"
import { BadResponseError, type ResponseHead } from "../upstream/response-head.ts"
import { WaitingWrites } from "../upstream/waiting-writes.ts"
import type { ProxyRequest } from "./proxy-request.ts"
import { RequestBody } from "./request-body.ts"
import { requestHead } from "./request-headers.ts"
import { responseHeaders, responseTrailers } from "./response-headers.ts"
import { openTunnel } from "./tunnel.ts"

/** Forwards a request to the run's program and the response back, at the pace of the reader. */
export function forwardRequest(context: GatewayContext, gatewayRequest: GatewayRequest, proxyRequest: ProxyRequest): void {
  new ForwardedRequest(context, gatewayRequest, proxyRequest).start()
}

class ForwardedRequest implements ResponseHandler, OpenConnection {
  readonly #context: GatewayContext
  readonly #gatewayRequest: GatewayRequest
  readonly #proxyRequest: ProxyRequest
  readonly #mayRepeat: boolean
  readonly #close: () => void
  #connection: UpstreamConnection | undefined
  #hasHead = false
  /** The start of the body: one write sends it with the head, and with the end if it is all. */
  #first: Buffer | undefined
  #isFlushed = false
  readonly #body: RequestBody | undefined
  readonly #writes = new WaitingWrites()
  #readerSince: number | undefined

  constructor(context: GatewayContext, gatewayRequest: GatewayRequest, proxyRequest: ProxyRequest) {
    this.#context = context
    this.#gatewayRequest = gatewayRequest
    this.#proxyRequest = proxyRequest
    if (hasBody(gatewayRequest.request))
      this.#body = new RequestBody(gatewayRequest, proxyRequest, {
        clock: context.clock,
        onWaiting: (isWaiting) => this.#setProgramWaiting(isWaiting),
      })
    this.#mayRepeat = this.#body === undefined && /^(?:GET|HEAD|OPTIONS)$/.test(gatewayRequest.request.method ?? "")
    this.#close = context.connections.add(proxyRequest.visitor, proxyRequest.target, this)
  }

  start(): void {
    const { request, response, expects } = this.#gatewayRequest
    const { method = "", headers } = request
    const { target, path } = this.#proxyRequest
    this.#context.activity.reportRequest(target, { method, path, headers })
    response.on("close", () => this.#gone())
    response.on("drain", this.#onRoom)
    this.#gatewayRequest.upgrade?.onFull(() => this.#setProgramWaiting(true))
    this.#send(this.#context.pools.acquire(this.#upstream(), { mayRepeat: this.#mayRepeat }))
    if (expects) response.writeContinue()
    if (this.#connection === undefined) return
    if (this.#body) this.#body.start(this.#connection)
    else this.#connection.endBody()
  }

  readonly #onRoom = (): void => {
    this.#readerSince = this.#gatewayRequest.response.writableEnded ? this.#context.clock.now() : undefined
    this.#setReaderWaiting(false)
    this.#connection?.resume()
  }

  #setProgramWaiting(isWaiting: boolean): void {
    this.#context.connections.setWaiting(this.#proxyRequest.visitor, this, { side: "program", isWaiting })
  }

  #setReaderWaiting(isWaiting: boolean): void {
    this.#context.connections.setWaiting(this.#proxyRequest.visitor, this, { side: "client", isWaiting })
  }

  get stalledSince(): number | undefined {
    return this.#body?.waitingSince ?? this.#readerSince
  }

  abort(): void {
    this.#gatewayRequest.response.destroy()
    this.#gone()
  }

  onHead(head: ResponseHead): void {
    if (head.status === 101) return void this.#switch(head)
    this.#hasHead = true
    this.#setReaderWaiting(false)
    const { response, request } = this.#gatewayRequest
    const { host = "", "sec-fetch-site": site } = request.headers
    const { isTrustworthy } = this.#context.urls
    const hasTrailers = head.framing.kind === "chunked" && request.httpVersion === "1.1"
    const options = {
      proxyRequest: this.#proxyRequest,
      host,
      isTrustworthy,
      isBrowser: site !== undefined,
      hasTrailers,
      renewal: this.#renewal(),
    }
    response.writeHead(head.status, head.message, responseHeaders(head, options))
  }

  onData(chunk: Buffer): void {
    if (this.#first === undefined && !this.#isFlushed) this.#first = Buffer.from(chunk)
    else this.#write(Buffer.from(chunk))
  }

  /** The program may take long, or stream events: the data so far is sent. */
  onPause(): void {
    if (!this.#hasHead) return void this.#setReaderWaiting(this.#connection?.holdsBytes ?? false)
    if (this.#isFlushed) return
    if (this.#first === undefined) this.#gatewayRequest.response.flushHeaders()
    this.#flush()
  }

  onEnd(trailers: string[]): void {
    this.#connection = undefined
    this.#body?.discard()
    const { response } = this.#gatewayRequest
    if (trailers.length > 0) response.addTrailers(responseTrailers(trailers))
    const last = this.#first
    this.#first = undefined
    if (last === undefined) response.end()
    else response.end(last)
    if (!response.writableFinished) this.#readerSince ??= this.#context.clock.now()
    if (response.writableLength > 0) this.#setReaderWaiting(true)
  }

  onDrain(): void {
    this.#body?.resume()
  }

  onError(error: Error): void {
    const isStale = this.#connection?.isStale ?? false
    this.#connection = undefined
    if (isStale && this.#mayRepeat && this.#isStillThere()) return void this.#repeat()
    this.#context.logger.debug({ err: error, run: this.#proxyRequest.target.id }, "a run's program did not answer")
    this.#body?.discard()
    if (this.#hasHead) this.#gatewayRequest.response.destroy()
    else
      sendFailure(
        this.#context,
        this.#gatewayRequest,
        unavailable(error instanceof BadResponseError ? "malformed" : "silent", this.#proxyRequest.target.id),
      )
  }

  #upstream() {
    const { target, address, visitor } = this.#proxyRequest
    return { key: target.key, address, visitor }
  }

  #send(connection: UpstreamConnection): void {
    const { request, upgrade } = this.#gatewayRequest
    const options = {
      proxyRequest: this.#proxyRequest,
      forwardedFor: this.#context.proxies.forwardedFor(request),
      scheme: this.#context.urls.appsUrl.protocol.slice(0, -1),
      isUpgrade: upgrade !== undefined,
    }
    this.#connection = connection
    connection.begin({ method: request.method ?? "", head: requestHead(request, options) }, this)
  }

  #isStillThere(): boolean {
    const { address, target } = this.#proxyRequest
    const now = this.#context.runs.byKey(target.key)?.address
    return !this.#gatewayRequest.response.destroyed && now?.host === address.host && now.port === address.port
  }

  #repeat(): void {
    this.#send(this.#context.pools.open(this.#upstream()))
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
    if (this.#writes.write(this.#gatewayRequest.response, chunk, this.#onRoom)) return
    this.#readerSince ??= this.#context.clock.now()
    this.#connection?.pause()
    this.#setReaderWaiting(true)
  }

  #switch(head: ResponseHead): void {
    const connection = this.#connection
    const { upgrade } = this.#gatewayRequest
    if (connection === undefined || upgrade === undefined) throw new BadResponseError("a change of protocol that nobody asked for")
    this.#close()
    openTunnel(this.#context, {
      gatewayRequest: { ...this.#gatewayRequest, upgrade },
      proxyRequest: this.#proxyRequest,
      connection,
      head,
      renewal: this.#renewal(),
    })
    this.#connection = undefined
  }

  #renewal(): string | undefined {
    const { session } = this.#proxyRequest
    return session && this.#context.sessionsFor(this.#proxyRequest.target).renewCookie(session)
  }

  #gone(): void {
    this.#close()
    this.#body?.discard()
    this.#connection?.destroy()
    this.#connection = undefined
  }
}

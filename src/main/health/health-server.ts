import type { Server } from "node:http"
import { type Readiness, readinessAnswer } from "#contract"
import { ConnectionLimiter, http, TrustedProxies } from "#http"
import { listenHosts } from "../addresses.ts"

export interface HealthServerOptions {
  host: string
  port: number
  readiness: () => Promise<Readiness["checks"]>
}

/** An address that makes many connections loses its oldest ones, and no probe waits. */
const maxConnections = { maxAnonymous: 100, maxAuthenticated: 0, maxPerAddress: 20, maxPerPerson: 0 }
const timeouts = { requestTimeout: 10_000, headersTimeout: 5_000, connectionsCheckingInterval: 1_000 }

/** Answers `/healthz` and `/readyz` for a process without the API. */
export async function startHealthServer({ host, port, readiness }: HealthServerOptions): Promise<AsyncDisposable> {
  const answer = async (url: string | undefined): Promise<{ status: number; body: object }> => {
    if (url === "/healthz") return { status: 200, body: { ok: true } }
    if (url !== "/readyz") return { status: 404, body: { ok: false, msg: "Only /healthz and /readyz are here", code: "not_found" } }
    const body = readinessAnswer(await readiness())
    return { status: body.ok ? 200 : 503, body }
  }
  const connections = new ConnectionLimiter({ ...maxConnections, proxies: new TrustedProxies([]) })
  const servers = listenHosts(host).map(() => {
    const server = http.createServer(timeouts, (request, response) => {
      request.resume()
      answer(request.url).then(
        ({ status, body }) =>
          response.writeHead(status, { "content-type": "application/json", connection: "close" }).end(JSON.stringify(body)),
        () => response.destroy(),
      )
    })
    connections.watch(server)
    return server
  })
  await Promise.all(listenHosts(host).map((each, i) => listen(servers[i] as Server, each, port)))
  return {
    [Symbol.asyncDispose]: async () => void (await Promise.all(servers.map((server) => new Promise((done) => server.close(done))))),
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen({ host, port }, resolve)
  })
}

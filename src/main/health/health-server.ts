import type { Server } from "node:http"
import { type Readiness, readinessAnswer } from "#contract"
import { http } from "#http"
import { listenHosts } from "../addresses.ts"

export interface HealthServerOptions {
  host: string
  port: number
  readiness: () => Promise<Readiness["checks"]>
}

/** Answers `/healthz` and `/readyz` for a process without the API. */
export async function startHealthServer({ host, port, readiness }: HealthServerOptions): Promise<AsyncDisposable> {
  const answer = async (url: string | undefined): Promise<{ status: number; body: object }> => {
    if (url === "/healthz") return { status: 200, body: { ok: true } }
    if (url !== "/readyz") return { status: 404, body: { ok: false, msg: "Only /healthz and /readyz are here", code: "not_found" } }
    const body = readinessAnswer(await readiness())
    return { status: body.ok ? 200 : 503, body }
  }
  const servers = listenHosts(host).map(() => {
    const server = http.createServer((request, response) => {
      request.resume()
      answer(request.url).then(
        ({ status, body }) =>
          response.writeHead(status, { "content-type": "application/json", connection: "close" }).end(JSON.stringify(body)),
        () => response.destroy(),
      )
    })
    server.maxConnections = 100
    server.requestTimeout = 10_000
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

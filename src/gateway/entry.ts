import type { IncomingMessage } from "node:http"
import { Failure } from "#contract"
import { checkTarget, checkTransferEncoding, countHeader, hasBody } from "#http"
import { handleRunOrigin } from "./addressing/run-origin.ts"
import { handleRunPath } from "./addressing/run-path.ts"
import type { GatewayContext } from "./context.ts"
import type { GatewayRequest } from "./gateway-request.ts"
import { sendFailure } from "./refusals.ts"

/** Handles one request. Never throws. */
export function handleRequest(context: GatewayContext, gatewayRequest: GatewayRequest): void {
  try {
    if (gatewayRequest.expects === "unknown")
      throw new Failure("invalid", "The only supported expectation is 100-continue", { status: 417, field: "Expect" })
    checkHead(gatewayRequest)
    const destination = locate(context, gatewayRequest.request)
    const done =
      destination.via === "path" ? handleRunPath(context, gatewayRequest) : handleRunOrigin(context, gatewayRequest, destination.key)
    done?.catch((error: unknown) => sendFailure(context, gatewayRequest, error))
  } catch (error) {
    sendFailure(context, gatewayRequest, error)
  }
}

function locate({ urls }: GatewayContext, request: IncomingMessage): { via: "origin"; key: string } | { via: "path" } {
  const destination = urls.parseHost(request.headers.host ?? "", request.socket.localPort)
  if (destination !== undefined) return destination
  const wanted = `${urls.appsUrl.host} or a run's own name below it is wanted`
  throw new Failure("invalid", `The gateway does not answer as ${JSON.stringify((request.headers.host ?? "").slice(0, 100))}; ${wanted}`, {
    field: "Host",
  })
}

/** Rejects ambiguous requests that Node's parser accepts. */
function checkHead({ request, upgrade }: GatewayRequest): void {
  const { url = "" } = request
  checkTarget(request)
  const hosts = countHeader(request, "host")
  if (hosts !== 1) throw new Failure("invalid", `A request must have one Host header; got ${hosts}`, { field: "Host" })
  if (countHeader(request, "authorization") > 1)
    throw new Failure("unauthorized", "Two Authorization headers came: one, for one user name, is wanted")
  if (!/^\/[\x21-\x22\x24-\x7e]*$/.test(url))
    throw new Failure("invalid", "The path must start with / and contain only visible ASCII characters")
  checkTransferEncoding(request)
  if (upgrade !== undefined && hasBody(request)) throw new Failure("invalid", "A request that changes the protocol must have no body")
}

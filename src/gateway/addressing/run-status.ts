import { Failure } from "#contract"
import { rfc3339 } from "#kit"
import type { GatewayContext } from "../context.ts"
import type { GatewayRequest } from "../gateway-request.ts"
import { send } from "../responses.ts"
import type { RunTarget } from "../run-directory.ts"
import { gatewayPrefix } from "./paths.ts"

const methods = new Map([
  ["run", "GET"],
  ["keep", "POST"],
])

/** Whether the path is one that pages of the program may request. */
export function isRunStatusPath(path: string): boolean {
  return path.startsWith(gatewayPrefix) && methods.has(path.slice(gatewayPrefix.length))
}

/**
 * Tells a page of the program when its run will end, so that it can warn its person: `ID`,
 * `ExpiresAt` and `IdleExpiresAt`, as in `/running_project`. A POST to `keep` marks the run as used
 * first. To ask is no use of the run.
 */
export function handleRunStatus({ runs, activity }: GatewayContext, gatewayRequest: GatewayRequest, target: RunTarget): void {
  const { request } = gatewayRequest
  const name = (request.url as string).slice(gatewayPrefix.length)
  const method = methods.get(name) as string
  if (request.method !== method) throw new Failure("method_not_allowed", `The method must be ${method}`, { headers: { Allow: method } })
  if (name === "keep") activity.report(target.id)
  const { expiresAt, idleExpiresAt } = runs.endTimes(target.id)
  const time = (at: number | null) => (at === null ? null : rfc3339(at))
  const body = JSON.stringify({ ID: target.id, ExpiresAt: time(expiresAt), IdleExpiresAt: time(idleExpiresAt) })
  send(gatewayRequest, 200, { body, type: "application/json", headers: {} })
}

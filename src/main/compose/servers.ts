import type { ApiServer } from "#api"
import { createGateway, type Gateway } from "#gateway"
import { createConnectionLimiter } from "../connection-limiter.ts"
import { createPortAssignments, createRunDirectory } from "../run-directory.ts"
import { secretKey } from "../secrets.ts"
import type { BaseComponents, ComposeOptions, FileComponents, RunComponents, StartContext } from "./context.ts"

/** How long open requests have to finish when the service stops. */
const closeMs = 8_000

interface ServerParts extends BaseComponents, RunComponents {
  files: FileComponents | undefined
}

/**
 * The gateway and, for its role, the API. Neither listens yet. The API asks the gateway for
 * addresses and tickets, whichever process serves them.
 */
export async function createServers(
  context: StartContext,
  parts: ServerParts,
  options: ComposeOptions,
): Promise<{ api: ApiServer | undefined; gateway: Gateway }> {
  const { settings, urls, runPorts, dataDir, clock, logger, stack, roles } = context
  const { store, identity, events, runs, files } = parts
  const connections = createConnectionLimiter(settings, logger)
  const gateway = createGateway({
    runs: createRunDirectory({ store, identity, events, runs, logger }),
    baseUrl: urls.baseUrl,
    appsUrl: urls.appsUrl,
    ...(runPorts ? { ports: { ...runPorts, ledger: createPortAssignments(store) } } : {}),
    cookieKey: secretKey({ ...settings, dataDir }, "gateway-cookie"),
    trustedProxies: settings.trustedProxies,
    connections,
    logger,
    clock,
  })
  const withApi =
    roles.has("api") && files
      ? (await import("./api.ts")).createApiServers(context, { ...parts, files, gateway, connections }, options)
      : undefined
  // All stop together, so that open requests get the whole time that a stop may take.
  const close = async () => {
    await Promise.all([
      withApi?.control[Symbol.asyncDispose](),
      withApi?.api[Symbol.asyncDispose](),
      gateway.close({ deadlineMs: closeMs }),
    ])
  }
  stack.defer(close)
  return { api: withApi?.api, gateway }
}

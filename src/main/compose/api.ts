import { join } from "node:path"
import { type ApiServer, createApi } from "#api"
import { type ControlServer, createControlServer } from "#control"
import type { Gateway } from "#gateway"
import type { ConnectionLimiter } from "#http"
import { apiSettings } from "../component-options.ts"
import { createReadiness } from "../health/readiness.ts"
import { createOpenIdSignIn } from "../openid.ts"
import type { BaseComponents, ComposeOptions, FileComponents, RunComponents, StartContext } from "./context.ts"

interface ApiParts extends BaseComponents, RunComponents {
  files: FileComponents
  gateway: Gateway
  connections: ConnectionLimiter
}

/** The API with the web UI, and its control channel. Neither listens yet. */
export function createApiServers(
  { settings, urls, dataDir, clock, logger, apps }: StartContext,
  { store, identity, events, engine, runs, images, files, gateway, connections }: ApiParts,
  options: ComposeOptions,
): { api: ApiServer; control: ControlServer } {
  const control = createControlServer({ store, identity, events, engine, runs, clock, logger, shellsDirectory: join(dataDir, "shells") })
  const api = createApi({
    ...{ store, identity, runs, images, tree: files.tree, gateway, control, events, clock, logger, connections },
    openId: createOpenIdSignIn(settings, { store, baseUrl: urls.baseUrl, dataDir, clock }),
    readiness: createReadiness({ clock, store, engine, files: files.starting, runs, apps }),
    accessLog: options.accessLog,
    settings: apiSettings(settings, urls, options.version),
  })
  return { api, control }
}

import { ConnectionLimiter, connectionLimits, TrustedProxies } from "#http"
import type { Logger } from "#kit"
import type { Settings } from "./settings/settings.ts"

/** Bounds the connections to API and gateway together: they share this process's descriptors. */
export function createConnectionLimiter(settings: Settings, logger: Logger): ConnectionLimiter {
  return new ConnectionLimiter({
    ...connectionLimits({
      max: settings.maxConnections,
      maxPerAddress: settings.maxConnectionsPerAddress,
      maxPerPerson: settings.maxConnectionsPerPerson,
    }),
    proxies: new TrustedProxies(settings.trustedProxies),
    onFull: (what, err) => {
      if (what === "accept") logger.error({ err }, "a connection could not be accepted")
      else logger.warn({}, "the connection limit is reached: idle connections, or those of an address with many, are closed")
    },
  })
}

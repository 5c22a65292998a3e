import { bounds } from "#contract"
import { integerBetween, parseListenPort, parsePortRange, parseProxies, parseText, parseUrl } from "./parse.ts"
import { setting } from "./setting.ts"

/** How Quayside is reached: ports, addresses, proxies, connections. */
export const networkSettings = {
  port: setting({
    env: "PORT",
    default: "8080",
    initial: 8080,
    read: parseListenPort,
    doc: "Port of the base URL: HTTP API and web UI. 0 chooses a free one.",
  }),
  appsPort: setting({
    env: "APPS_PORT",
    default: "8081",
    initial: 8081,
    read: parseListenPort,
    doc: "Port of the apps URL: the gateway to running projects.",
  }),
  appsPorts: setting({
    env: "APPS_PORTS",
    default: "none: runs have names below the apps URL",
    initial: undefined as { first: number; last: number } | undefined,
    read: parsePortRange,
    doc: "Range of ports for runs, such as `21000-21999`, for servers that people reach by a plain name or address without a wildcard. A port belongs to one person for ever, so reserve about ten for each account.",
  }),
  appsPortsPerPerson: setting({
    env: "APPS_PORTS_PER_PERSON",
    default: String(bounds.gateway.portsPerPerson.value),
    initial: bounds.gateway.portsPerPerson.value as number,
    read: integerBetween(1, 65_535),
    doc: "Maximum number of ports of the range that one person gets; never more than half of the range.",
  }),
  filesPort: setting({ env: "FILES_PORT", default: "8082", initial: 8082, read: parseListenPort, doc: "Port of the files URL: WebDAV." }),
  host: setting({
    env: "HOST",
    default: "localhost",
    initial: "localhost",
    read: parseText,
    doc: "Name or address to listen on. `localhost` means both loopback addresses; the start fails if the port of one of them is in use.",
  }),
  baseUrl: setting({
    env: "BASE_URL",
    default: "http://localhost:<port>",
    initial: "",
    read: parseUrl,
    doc: "The address at which people reach the API and the web UI.",
  }),
  appsUrl: setting({
    env: "APPS_URL",
    default: "http://localhost:<appsPort>",
    initial: "",
    read: parseUrl,
    doc: "The address of the gateway; it must differ from the other two. Each run's own origin is a name below it.",
  }),
  filesUrl: setting({
    env: "FILES_URL",
    default: "http://localhost:<filesPort>",
    initial: "",
    read: parseUrl,
    doc: "The address of the WebDAV server; it must differ from the other two.",
  }),
  trustedProxies: setting({
    env: "TRUSTED_PROXIES",
    default: "none",
    initial: [] as string[],
    read: parseProxies,
    doc: "Addresses and networks of reverse proxies, separated by commas. Their `X-Forwarded-For` is trusted.",
  }),
  maxConnections: setting({
    env: "MAX_CONNECTIONS",
    default: "20000",
    initial: bounds.http.connections.value,
    read: integerBetween(100, 1_000_000),
    doc: "Maximum number of connections to API and gateway together, and again to files; fewer if the process may open fewer files (`ulimit -n`).",
  }),
  maxConnectionsPerAddress: setting({
    env: "MAX_CONNECTIONS_PER_ADDRESS",
    default: "1024",
    initial: bounds.http.connectionsPerAddress.value,
    read: integerBetween(10, 1_000_000),
    doc: "Maximum number of connections from one address on which nobody has signed in yet.",
  }),
  maxConnectionsPerPerson: setting({
    env: "MAX_CONNECTIONS_PER_PERSON",
    default: "4096",
    initial: bounds.http.connectionsPerPerson.value,
    read: integerBetween(10, 1_000_000),
    doc: "Maximum number of connections of one person, including WebSockets and event streams.",
  }),
} as const

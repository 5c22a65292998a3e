import type { KubeConfig } from "@kubernetes/client-node"

type RequestContext = Parameters<KubeConfig["applySecurityAuthentication"]>[0]
type Dispatcher = NonNullable<ReturnType<RequestContext["getDispatcher"]>>
type Create = (...[cluster, options]: Parameters<KubeConfig["createDispatcherOptions"]>) => Dispatcher | undefined

/**
 * Lets all calls and watches of a kubeconfig share connections. The library opens one for each, and
 * a TLS handshake costs both ends more than most calls. New certificates get new connections.
 *
 * HTTP/1.1, since an aborted call then ends its connection. With HTTP/2 all calls would wait for a
 * connection that the network dropped without a word. See
 * `docs/decisions/0025-shared-connections-to-the-api-server.md`.
 */
export function shareConnections(config: KubeConfig): void {
  const factory = config as unknown as { createDispatcher: Create }
  const create = factory.createDispatcher.bind(config)
  let shared: { key: string; dispatcher: Dispatcher | undefined } | undefined
  factory.createDispatcher = (cluster, options) => {
    const { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } = options
    const now = [ca, cert, key, pfx, passphrase, servername, rejectUnauthorized].map(String).join("\n")
    if (now !== shared?.key) shared = { key: now, dispatcher: withoutHttp2(create(cluster, options)) }
    return shared.dispatcher
  }
}

function withoutHttp2(dispatcher: Dispatcher | undefined): Dispatcher | undefined {
  return dispatcher?.compose((dispatch) => (options, handler) => dispatch(Object.assign({}, options, { allowH2: false }), handler))
}

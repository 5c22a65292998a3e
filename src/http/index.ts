export {
  assignConnection,
  attributeRequest,
  ConnectionLimiter,
  type ConnectionLimiterOptions,
  markConnectionInUse,
  tooManyConnections,
} from "./connections/connection-limiter.ts"
export { type ConnectionSettings, connectionLimits, maxDescriptors } from "./connections/connection-limits.ts"
export {
  createHttpServer,
  type Expectation,
  type HttpServerOptions,
  type HttpUpgrade,
  type RequestHandler,
} from "./connections/http-server.ts"
export { HttpServers, type ListenTarget } from "./connections/http-servers.ts"
export type { ParseErrorOptions } from "./connections/parse-errors.ts"
export { PendingRequests } from "./connections/pending-requests.ts"
export { detachConnection, hasPendingRequest } from "./connections/pipelining.ts"
export { RequestTurns } from "./connections/request-turns.ts"
export { PacedReader, sharedTurnBudget, type TurnOwner, waitForTurn } from "./connections/turn-budget.ts"
export * as http from "./node/http.ts"
export { createUpgradeResponse } from "./node/upgrade-response.ts"
export { type BodyOptions, IncompleteBodyError, readBody } from "./requests/body.ts"
export {
  isBrowserLoad,
  isCrossOrigin,
  isExternalNavigation,
  isNavigation,
  isServiceWorkerScript,
  prefersHtml,
} from "./requests/browser.ts"
export { cookieValues, setCookie, uniqueCookie } from "./requests/cookies.ts"
export { anonymousDrain, drainBody } from "./requests/drain.ts"
export { checkTarget, checkTransferEncoding, countHeader, hasBody, isFromLoopback } from "./requests/headers.ts"
export { AllowedHosts, authorityOf, hostName, isLoopbackName, originOfHost } from "./requests/host.ts"
export { declaresOtherOrigin, isSafeMethod } from "./requests/origin.ts"
export { transferEncodingError } from "./requests/transfer-encoding.ts"
export { TrustedProxies } from "./requests/trusted-proxies.ts"
export { openEventStream, sendEventStreamHead } from "./responses/event-stream.ts"
export { type JsonLinesOptions, sendJsonLines } from "./responses/json-lines.ts"
export { LargeResponseLimiter } from "./responses/large-response-limiter.ts"
export { PersonLimiter } from "./responses/person-limiter.ts"
export { closeIfUnread } from "./responses/unread.ts"

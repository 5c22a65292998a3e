export {
  assignConnection,
  attributeRequest,
  ConnectionLimit,
  type ConnectionLimitOptions,
  markConnectionInUse,
} from "./connections/connection-limit.ts"
export { connectionLimits, maxDescriptors } from "./connections/descriptors.ts"
export { handleParseErrors, isUnknownMethod, type ParseError } from "./connections/parse-errors.ts"
export { detachConnection, hasPendingRequest, type PipeliningOptions, queueRequest } from "./connections/pipelining.ts"
export { hasTinyChunks, serverOptions, tinyChunksMsg } from "./node/buffered-request.ts"
export * as http from "./node/http.ts"
export { drainBody, hasBody } from "./requests/drain.ts"
export { transferEncodingError } from "./requests/transfer-encoding.ts"
export { peerAddress, TrustedProxies } from "./requests/trusted-proxies.ts"

/**
 * Node's HTTP. An `import` of it reads all that the module exports, a WebSocket client among it,
 * which loads undici: 15 MB and half the time of a start. (Measured with Node 26.10.)
 */
export const { Agent, createServer, get, IncomingMessage, ServerResponse, STATUS_CODES } = process.getBuiltinModule("node:http")

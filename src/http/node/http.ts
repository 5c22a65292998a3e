/**
 * Node's HTTP. An `import` reads all exports of the module, a WebSocket client among them, which
 * loads undici: 15 MiB in each process. (Measured with Node 26.10.)
 */
export const { Agent, createServer, get, IncomingMessage, request, ServerResponse, STATUS_CODES } = process.getBuiltinModule("node:http")

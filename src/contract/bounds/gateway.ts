import type { Bounds } from "./bound.ts"

/** Gateway. */
export const gatewayBounds = {
  headers: {
    what: "Header fields of a request",
    value: 500,
    unit: "count",
    per: "request",
    beyond: "431 `headers_too_large`",
  },
  earlyBytes: {
    what: "Bytes that a client sends after a WebSocket request and before its answer",
    value: 65_536,
    unit: "bytes",
    per: "connection",
    beyond: "the gateway stops reading until the answer arrives",
  },
  openPerPerson: {
    what: "Open requests and WebSockets of one sign-in or token at one run",
    value: 4_096,
    unit: "count",
    per: "sign-in and run",
    beyond: "429 `too_many_requests`",
  },
  silentMs: {
    what: "Time without progress of a client while the program waits for it",
    value: 300_000,
    unit: "ms",
    per: "request",
    beyond: "the gateway closes both connections",
  },
  answerHeadBytes: {
    what: "Head of a program's answer",
    value: 65_536,
    unit: "bytes",
    per: "answer",
    beyond: "503 `unavailable`",
  },
  answerTrailerBytes: {
    what: "Trailers of a program's answer",
    value: 16_384,
    unit: "bytes",
    per: "answer",
    beyond: "the gateway closes both connections",
  },
  interimAnswers: {
    what: "Interim answers (1xx) of a program to one request",
    value: 32,
    unit: "count",
    per: "request",
    beyond: "503 `unavailable`",
  },
  connectMs: {
    what: "Time to connect to a run's program",
    value: 5_000,
    unit: "ms",
    per: "connection",
    beyond: "503 `unavailable`",
  },
  idleConnections: {
    what: "Idle connections to a run's program",
    value: 64,
    unit: "count",
    per: "run",
    beyond: "the gateway closes the connection",
  },
  ticketMs: {
    what: "Age of the one-time ticket that opens a run",
    value: 30_000,
    unit: "ms",
    per: "ticket",
    beyond: "403 `forbidden`, with a link to try again",
  },
  portsPerPerson: {
    what: "Ports that belong to one person, with `QUAYSIDE_APPS_PORTS`; never more than half of the range",
    value: 32,
    unit: "count",
    per: "person",
    beyond: "browsers get a page with 503; tokens still work",
    setting: "QUAYSIDE_APPS_PORTS_PER_PERSON",
  },
} as const satisfies Bounds

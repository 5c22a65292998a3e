import type { Bounds } from "./bound.ts"

const refused = "429 `too_many_requests` with `Retry-After`"

/**
 * Rates of a person; administrators have none. Requests that sign in, list or end credentials, or
 * change the password count for the credential, so that one that was stolen can be ended.
 */
export const rateBounds = {
  starts: {
    what: "Starts of runs in a minute",
    value: 600,
    unit: "count",
    per: "person",
    beyond: refused,
    setting: "QUAYSIDE_STARTS_PER_MINUTE",
  },
  writes: {
    what: "POST, PUT and DELETE requests to the API in a minute; each credential has as many for ending credentials",
    value: 6_000,
    unit: "count",
    per: "person",
    beyond: refused,
    setting: "QUAYSIDE_WRITES_PER_MINUTE",
  },
  changes: {
    what: "Changes of the database by requests, in its queue at a time",
    value: 1,
    unit: "count",
    per: "person",
    beyond: "further ones wait, so that those of others are made in between",
  },
  waitingChanges: {
    what: "The same that wait",
    value: 1_000,
    unit: "count",
    per: "person",
    beyond: refused,
  },
  reads: {
    what: "Requests that read and pages, answered at a time; those that wait for the engine are bounded on their own",
    value: 32,
    unit: "count",
    per: "person",
    beyond: "further ones wait, so that those of others are answered in between",
  },
  waitingReads: {
    what: "The same that wait",
    value: 1_000,
    unit: "count",
    per: "person",
    beyond: refused,
  },
  databaseReads: {
    what: "Reads of a PostgreSQL database for requests, pages, unknown credentials, rights on files and others' runs, at a time, of the 10 of a process",
    value: 4,
    unit: "count",
    per: "person or address",
    beyond: "further ones wait, and those of others overtake them",
  },
  streams: {
    what: "Event streams and followed outputs of runs, opened in a minute",
    value: 120,
    unit: "count",
    per: "person",
    beyond: refused,
    setting: "QUAYSIDE_STREAMS_PER_MINUTE",
  },
  openStreams: {
    what: "Event streams open at once, and as many followed outputs of runs",
    value: 100,
    unit: "count",
    per: "person",
    beyond: refused,
    setting: "QUAYSIDE_OPEN_STREAMS",
  },
  sessions: {
    what: "Browser sessions at once",
    value: 100,
    unit: "count",
    per: "person",
    beyond: "a sign-in ends the oldest session",
  },
  replayPages: {
    what: "Missed events that are read at once for readers who reconnect, in pages of 500",
    value: 4,
    unit: "count",
    per: "process",
    beyond: "the next pages wait; one person's pages are read one after another, with pauses",
  },
  streamBytes: {
    what: "Events that wait for a slow reader",
    value: 64 * 1024,
    unit: "bytes",
    per: "stream",
    beyond: "the stream ends with `reset`",
  },
} as const satisfies Bounds

import {
  type Data,
  type Endpoint,
  endpoints,
  Failure,
  type FailureBody,
  type Grant,
  type Group,
  type Image,
  type ImageCheck,
  type Operation,
  type Params,
  type Project,
  type Query,
  type Reason,
  type RunningProject,
  type Token,
  type User,
  type Whoami,
} from "#contract"
import { readEvents, type ServerEvent } from "./events.ts"

export type { ServerEvent } from "./events.ts"
export { type Following, follow } from "./follow.ts"

/** The types behind the names by which the contract's table speaks of answers. */
interface Schemas {
  ImageModel: Image
  ImageCheck: ImageCheck
  DataModel: Data
  ProjectModel: Project
  RunningProject: RunningProject
  User: User
  Group: Group
  Token: Token
  Grant: Grant
  NewToken: Token & { Token: string }
  Whoami: Whoami
  Capacity: Capacity
  Preview: Preview
  RunStats: { now: RunStats; series: RunStats[] }
  Event: ServerEvent
  FilesToken: { Token: string; ExpiresAt: string }
  AuditEntry: AuditEntry
  Health: { ok: boolean }
  Readiness: { ok: boolean; checks: Record<"store" | "engine" | "files", { ok: boolean; msg: string }> }
}

/** What nodes have and what is free; amounts of memory in the unit of `Memory`. */
export interface Capacity {
  nodes: {
    Name: string
    Cpus: Share
    Memory: Share
    Gpus: Share
    /** `RunID` tells who holds it, to administrators and the holder. */
    Devices: { ID: string; Model: string; Memory: number; RunID: number | null }[]
  }[]
  /** What the caller's own limits leave them; null is unlimited. */
  you: { Cpus: number | null; Memory: number | null; Gpus: number | null }
}

/**
 * What a run used at one time; null is what is not known. Amounts of memory and disk in the unit of
 * `Memory`, traffic in bytes since the start.
 */
export interface RunStats {
  Time: string
  Cpus: number | null
  Memory: number | null
  MemoryLimit: number | null
  GpuMemory: number | null
  /** From 0 to 1. */
  GpuBusy: number | null
  NetworkIn: number | null
  NetworkOut: number | null
  Disk: number | null
}

/** What would become of a start. */
export interface Preview {
  Admitted: boolean
  Queued: boolean
  QueuePosition: number | null
  Reason: Reason | null
}

interface Share {
  total: number
  free: number
}

/** One row of the audit. */
export interface AuditEntry {
  ID: number
  Time: string
  Actor: string
  Action: string
  Thing: { Type: string; ID: number } | null
  Outcome: "done" | "refused"
  Address: string
  RequestID: string
  /**
   * How many times: refusals of one minute are one row, whose time, address and request are those
   * of the first.
   */
  Count: number
}

/** One page of a list. */
export interface List<T> {
  data: T[]
  page: number
  pageCount: number
  pageSize: number
}

type AnswerOf<A> = A extends { one: keyof Schemas }
  ? Schemas[A["one"]]
  : A extends { list: keyof Schemas }
    ? List<Schemas[A["list"]]>
    : A extends { done: true }
      ? { ok: true }
      : A extends { text: string }
        ? string
        : A extends { stream: keyof Schemas }
          ? AsyncIterable<Schemas[A["stream"]]>
          : Record<string, unknown>

type QueryOf<Op extends Operation> = Query<(typeof endpoints)[Op]["query"]>

export interface Asking<Op extends Operation> {
  query?: { [K in keyof QueryOf<Op>]?: QueryOf<Op>[K] | string | number }
  /** Any subset of the structure's fields; sent as JSON. */
  body?: object
  headers?: Readonly<Record<string, string>>
  signal?: AbortSignal
}

/** One object for one ID alone; a list for anything else, also for a list of one ID. */
interface OneOrList<Op extends Operation, T> {
  (asking: Omit<Asking<Op>, "query"> & { query: { ID: number | string } }): Promise<T>
  (asking?: Asking<Op>): Promise<List<T>>
}

/** A method for every operation of the contract. Refusals are thrown as `Failure`. */
export type Client = {
  [Op in Operation]: (typeof endpoints)[Op]["answer"] extends { oneOrList: infer S extends keyof Schemas }
    ? OneOrList<Op, Schemas[S]>
    : (asking?: Asking<Op>) => Promise<AnswerOf<(typeof endpoints)[Op]["answer"]>>
}

export interface ClientOptions {
  /** Without a slash at its end. */
  baseUrl: string
  /** The `Authorization` header: see `basic` and `bearer`. */
  authorization?: string
  fetch?: typeof fetch
}

export function basic(userName: string, password: string): string {
  const bytes = new TextEncoder().encode(`${userName}:${password}`)
  return `Basic ${btoa(String.fromCharCode(...bytes))}`
}

export function bearer(token: string): string {
  return `Bearer ${token}`
}

/** A client made from the contract's table. */
export function createClient(options: ClientOptions): Client {
  const methods = Object.entries(endpoints).map(([operation, endpoint]) => [
    operation,
    (asking: Asking<Operation> = {}) => ask(options, endpoint, asking),
  ])
  return Object.fromEntries(methods) as Client
}

async function ask(options: ClientOptions, endpoint: Endpoint, asking: Asking<Operation>): Promise<unknown> {
  const { baseUrl, authorization, fetch: send = fetch } = options
  const answer = await send(`${baseUrl}${endpoint.path}${queryText(endpoint.query, queryOf(endpoint, asking))}`, {
    method: endpoint.method,
    headers: {
      ...(authorization === undefined ? {} : { authorization }),
      ...(asking.body === undefined ? {} : { "content-type": "application/json" }),
      ...asking.headers,
    },
    ...(asking.body === undefined ? {} : { body: JSON.stringify(asking.body) }),
    ...(asking.signal === undefined ? {} : { signal: asking.signal }),
  })
  if (answer.status === 200 && "text" in endpoint.answer) return answer.text()
  if (answer.status === 200 && "stream" in endpoint.answer) return readEvents(answer)
  const value: unknown = await answer.json()
  if (answer.status !== 200) throw failureFrom(answer.status, value as FailureBody)
  return value
}

function failureFrom(status: number, body: FailureBody): Failure {
  const { ok: _ok, msg, code, field, ...extra } = body
  return new Failure(code, msg, { status, extra, ...(field === undefined ? {} : { field }) })
}

/**
 * The API takes one ID alone for the question after one object: a page is asked for where a list of
 * IDs was given.
 */
function queryOf({ answer }: Endpoint, { query = {} }: Asking<Operation>): object {
  return "oneOrList" in answer && "ID" in query && Array.isArray(query.ID) ? { page: 1, ...query } : query
}

function queryText(params: Params, query: object): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    if (!Object.hasOwn(params, name)) throw new TypeError(`${name} is no query parameter of this operation`)
    for (const each of Array.isArray(value) ? value : [value]) search.append(name, textOf(each))
  }
  return search.size === 0 ? "" : `?${search}`
}

function textOf(value: unknown): string {
  if (typeof value === "boolean") return value ? "1" : "0"
  const sort = value as { by?: string; descending?: boolean }
  if (typeof value === "object" && value !== null && sort.by !== undefined) return `${sort.descending ? "-" : ""}${sort.by}`
  return String(value)
}

import {
  type Answer,
  type Endpoint,
  endpoints,
  Failure,
  type FailureBody,
  type List,
  type OperationId,
  type QueryOf,
  type QueryParams,
  type Structure,
  type StructureValue,
} from "#contract"
import { readEvents, readLines } from "./streams.ts"

/** The parts of a request beside its method and path. */
export interface RequestOptions<Op extends OperationId> {
  query?: { [K in keyof QueryOf<Op>]?: QueryOf<Op>[K] | string | number }
  /** Any subset of the structure's fields; sent as JSON. */
  body?: object
  headers?: Readonly<Record<string, string>>
  signal?: AbortSignal
  /** Receives the headers of a successful answer, such as `ETag`. */
  onHeaders?: (headers: Pick<Headers, "get">) => void
}

/** One object for one ID alone; a list for anything else, also for a list of one ID. */
interface OneOrList<Op extends OperationId, T> {
  (options: Omit<RequestOptions<Op>, "query"> & { query: { ID: number | string } }): Promise<T>
  (options?: RequestOptions<Op>): Promise<List<T>>
}

/** A method for every operation of the contract. Refusals are thrown as `Failure`. */
export type Client = {
  [Op in OperationId]: (typeof endpoints)[Op]["answer"] extends { oneOrList: infer S extends Structure }
    ? OneOrList<Op, StructureValue<S>>
    : (options?: RequestOptions<Op>) => Promise<Answer<Op>>
}

export interface ClientOptions {
  /** Without a slash at its end. */
  baseUrl: string
  /** The `Authorization` header: see `basicAuth` and `bearerAuth`. */
  authorization?: string
  fetch?: Send
}

/** Sends a request, as `fetch` does. A connection that fails is thrown as a `TypeError`. */
export type Send = (url: string, request: SendRequest) => Promise<HttpAnswer>

export interface SendRequest {
  method: string
  headers: Record<string, string>
  body?: string
  signal?: AbortSignal
}

/** The parts of a `Response` that a client reads. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: Pick<Headers, "get">
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null
  text(): Promise<string>
  json(): Promise<unknown>
}

/** The `Authorization` header of a user name with a password or token. */
export function basicAuth(userName: string, password: string): string {
  const bytes = new TextEncoder().encode(`${userName}:${password}`)
  return `Basic ${btoa(String.fromCharCode(...bytes))}`
}

/** The `Authorization` header of a token. */
export function bearerAuth(token: string): string {
  return `Bearer ${token}`
}

/** A client made from the contract's table. */
export function createClient(options: ClientOptions): Client {
  const methods = Object.entries(endpoints).map(([operation, endpoint]) => [
    operation,
    (request: RequestOptions<OperationId> = {}) => call(options, endpoint, request),
  ])
  return Object.fromEntries(methods) as Client
}

async function call(options: ClientOptions, endpoint: Endpoint, request: RequestOptions<OperationId>): Promise<unknown> {
  const { baseUrl, authorization, fetch: send = fetch } = options
  const response = await send(`${baseUrl}${endpoint.path}${queryText(endpoint.query, queryOf(endpoint, request))}`, {
    method: endpoint.method,
    headers: {
      ...(authorization === undefined ? {} : { authorization }),
      ...(request.body === undefined ? {} : { "content-type": "application/json" }),
      ...request.headers,
    },
    ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  })
  if (response.status === 200) request.onHeaders?.(response.headers)
  if (response.status === 200 && "text" in endpoint.answer) return response.text()
  if (response.status === 200 && "lines" in endpoint.answer) return readLines(response)
  if (response.status === 200 && "events" in endpoint.answer) return readEvents(response)
  const value: unknown = await response.json()
  if (response.status !== 200) throw failureFrom(response.status, value as FailureBody)
  return value
}

function failureFrom(status: number, body: FailureBody): Failure {
  const { ok: _ok, msg, code, field, ...extra } = body
  return new Failure(code, msg, { status, extra, ...(field === undefined ? {} : { field }) })
}

/**
 * One ID alone reads one object. To get a list for a list of one ID, the query asks for a page.
 */
function queryOf({ answer }: Endpoint, { query = {} }: RequestOptions<OperationId>): object {
  return "oneOrList" in answer && "ID" in query && Array.isArray(query.ID) ? { page: 1, ...query } : query
}

function queryText(params: QueryParams, query: object): string {
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

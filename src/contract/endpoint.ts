import type { BodyShape } from "./fields/body.ts"
import type { Structure } from "./fields/structure.ts"
import type { OptionalHeader } from "./headers.ts"
import type { QueryParams } from "./query.ts"

export type HttpMethod = "GET" | "POST" | "PUT" | "DELETE"

/**
 * One operation of the API: everything that routing, checks, the client and the description need to
 * know about it.
 */
export interface Endpoint {
  method: HttpMethod
  path: string
  tag: "Images" | "Datasets" | "Projects" | "Running projects" | "People and credentials" | "Installation"
  summary: string
  /** The query's parameters; any other is rejected. */
  query: QueryParams
  /** Headers that change what it does. `If-Match` of PUT and DELETE is implied. */
  headers?: readonly OptionalHeader[]
  /**
   * The body's fields; absent: no body is read. `either`: of each group at least one field is
   * needed.
   */
  body?: BodyShape & { either?: readonly (readonly string[])[] }
  /**
   * The answer on success: one structure, a list of it, JSON lines or events of it, text of a media
   * type, this description, or only that it is done.
   */
  answer:
    | { one: Structure }
    | { list: Structure }
    | { oneOrList: Structure }
    | { done: true }
    | { description: true }
    | { text: string }
    | { lines: Structure }
    | { events: Structure }
  /**
   * The action of the table of rights that the caller needs. `none`: no credential is needed.
   */
  permission: string
  /** Callers on the same machine need no credential. */
  fromLoopback?: true
  /** Largest body in bytes. Default 1 MiB. */
  maxBody?: number
}

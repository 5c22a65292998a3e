import type { QueryArrayConfig, QueryArrayResult } from "pg"
import type { QueryRunner, SearchContext, UserScans } from "../driver.ts"
import type { ListShape } from "../queries/lists.ts"
import type { Query } from "../queries/query.ts"
import type { QueryCompiler } from "../queries/query-compiler.ts"
import { type ColumnValue, type QueryArgument, withoutNul } from "../values.ts"

/** The maximum of prepared statements: the server keeps them as long as the connection lasts. */
const maxNamed = 300

/** Gives every query of one driver the name under which its connections prepare it. */
export class StatementNames {
  readonly #names = new Map<string, string>()

  /**
   * Undefined: the statement is prepared for each use. Filters of lists get no names: one person's
   * combinations of them would use up all, and everybody's changes would take longer.
   */
  of(query: Query<never>): string | undefined {
    if (isFiltered(query)) return undefined
    const known = this.#names.get(query.key)
    if (known !== undefined || this.#names.size >= maxNamed) return known
    const name = `q${this.#names.size}`
    this.#names.set(query.key, name)
    return name
  }
}

function isFiltered({ shape }: Query<never>): boolean {
  const { where, words, ids }: Partial<ListShape> = typeof shape === "object" ? (shape ?? {}) : {}
  return where !== undefined || words === true || ids === true
}

export type SendQuery = (config: QueryArrayConfig) => Promise<QueryArrayResult>

export interface PostgresQueryRunnerOptions {
  compiler: QueryCompiler
  names: StatementNames
  /** Sends one query to a connection. Rejects with the error that `failureOf` returns. */
  send: SendQuery
  scans?: UserScans
  search?: SearchContext
}

/** Runs queries over connections to PostgreSQL. */
export class PostgresQueryRunner implements QueryRunner {
  readonly scans?: UserScans
  readonly search?: SearchContext
  readonly #options: PostgresQueryRunnerOptions

  constructor(options: PostgresQueryRunnerOptions) {
    this.#options = options
    if (options.scans) this.scans = options.scans
    if (options.search) this.search = options.search
  }

  async all<A extends object>(query: Query<A>, args: A): Promise<ColumnValue[][]> {
    return (await this.#send(query, args)).rows as ColumnValue[][]
  }

  async first<A extends object>(query: Query<A>, args: A): Promise<ColumnValue[] | undefined> {
    return (await this.#send(query, args)).rows[0] as ColumnValue[] | undefined
  }

  async run<A extends object>(query: Query<A>, args: A): Promise<number> {
    return (await this.#send(query, args)).rowCount ?? 0
  }

  async #send(query: Query<never>, args: object): Promise<QueryArrayResult> {
    const { sql, parameters } = this.#options.compiler.compile(query)
    const name = this.#options.names.of(query)
    const values = parameters.map((parameter) => toPostgresValue(parameter, (args as Record<string, QueryArgument | undefined>)[parameter]))
    return this.#options.send({ text: sql, values, rowMode: "array", ...(name === undefined ? {} : { name }) })
  }
}

function toPostgresValue(name: string, arg: QueryArgument | undefined): ColumnValue | readonly (string | number)[] {
  if (arg === undefined) throw new TypeError(`A value for ${name} is wanted, got undefined`)
  if (typeof arg === "string") return withoutNul(arg)
  if (typeof arg === "boolean") return arg ? 1 : 0
  return Array.isArray(arg) ? arg.map((item) => (typeof item === "string" ? withoutNul(item) : item)) : (arg as ColumnValue)
}

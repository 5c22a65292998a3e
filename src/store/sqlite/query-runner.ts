import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite"
import type { QueryRunner, SearchContext, UserScans } from "../driver.ts"
import type { Query } from "../queries/query.ts"
import type { QueryCompiler } from "../queries/query-compiler.ts"
import { type ColumnValue, type QueryArgument, withoutNul } from "../values.ts"
import { failureOf } from "./errors.ts"

interface Prepared {
  statement: StatementSync
  parameters: readonly string[]
}

/** The maximum of prepared statements per connection; the garbage collector finalizes others. */
const maxPrepared = 500

/** Runs queries on one connection. Each statement completes synchronously. */
export class SqliteQueryRunner implements QueryRunner {
  readonly scans?: UserScans
  readonly search?: SearchContext
  protected readonly db: DatabaseSync
  readonly #compiler: QueryCompiler
  readonly #prepared = new Map<string, Prepared>()

  constructor(db: DatabaseSync, compiler: QueryCompiler, options: { scans?: UserScans; search?: SearchContext } = {}) {
    this.db = db
    if (options.scans) this.scans = options.scans
    if (options.search) this.search = options.search
    this.#compiler = compiler
  }

  async all<A extends object>(query: Query<A>, args: A): Promise<ColumnValue[][]> {
    const { statement, parameters } = this.#prepared.get(query.key) ?? this.#prepare(query)
    try {
      return statement.all(...this.#bind(parameters, args)) as unknown as ColumnValue[][]
    } catch (error) {
      throw this.toFailure(error)
    }
  }

  async first<A extends object>(query: Query<A>, args: A): Promise<ColumnValue[] | undefined> {
    const { statement, parameters } = this.#prepared.get(query.key) ?? this.#prepare(query)
    try {
      return statement.get(...this.#bind(parameters, args)) as unknown as ColumnValue[] | undefined
    } catch (error) {
      throw this.toFailure(error)
    }
  }

  async run<A extends object>(query: Query<A>, args: A): Promise<number> {
    const { statement, parameters } = this.#prepared.get(query.key) ?? this.#prepare(query)
    try {
      return Number(runWithBigInts(statement, this.#bind(parameters, args)).changes)
    } catch (error) {
      throw this.toFailure(error)
    }
  }

  #prepare(query: Query<never>): Prepared {
    const { sql, parameters } = this.#compiler.compile(query)
    try {
      const statement = this.db.prepare(sql)
      statement.setReturnArrays(true)
      if (this.#prepared.size >= maxPrepared) this.#prepared.delete(this.#prepared.keys().next().value ?? "")
      const prepared = { statement, parameters }
      this.#prepared.set(query.key, prepared)
      return prepared
    } catch (error) {
      throw this.toFailure(error)
    }
  }

  /** The error for the caller. */
  protected toFailure(error: unknown): unknown {
    return failureOf(error)
  }

  /** Throws if the statement would run outside of its transaction. */
  protected beforeStatement(): void {}

  #bind(parameters: readonly string[], args: object): SQLInputValue[] {
    this.beforeStatement()
    const values = new Array<SQLInputValue>(parameters.length)
    for (let i = 0; i < parameters.length; i += 1) {
      const name = parameters[i] as string
      values[i] = toSqliteValue(name, (args as Record<string, QueryArgument | undefined>)[name])
    }
    return values
  }
}

/**
 * The full-text index writes rows whose IDs exceed JavaScript's safe integers. Node reports the
 * last one with every later `run` on the connection, and throws unless it may use BigInt.
 */
function runWithBigInts(statement: StatementSync, values: SQLInputValue[]): ReturnType<StatementSync["run"]> {
  statement.setReadBigInts(true)
  try {
    return statement.run(...values)
  } finally {
    statement.setReadBigInts(false)
  }
}

export function toSqliteValue(name: string, arg: QueryArgument | undefined): SQLInputValue {
  if (typeof arg === "string") return withoutNul(arg)
  if (typeof arg === "number" || arg === null) return arg
  if (typeof arg === "boolean") return arg ? 1 : 0
  if (arg === undefined) throw new TypeError(`A value for ${name} is wanted, got undefined`)
  return JSON.stringify(arg)
}

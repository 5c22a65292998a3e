import type { Compilable } from "kysely"
import type { Dialect } from "../migrations/index.ts"
import type { Query } from "./query.ts"
import { type QueryBuilder, queryBuilder } from "./query-builder.ts"
import { queries } from "./registry.ts"

/** The text of a query in one dialect, and the argument of each parameter. */
export interface CompiledQuery {
  readonly sql: string
  readonly parameters: readonly string[]
}

/** People's filters make new shapes, so the number of compiled queries needs a maximum. */
const maxCompiled = 1_000

/** The placeholder of an argument. */
class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

const placeholders: unknown = new Proxy({}, { get: (_, name) => new Placeholder(String(name)) })

type BuildQuery = (build: QueryBuilder, args: unknown, shape: unknown) => Compilable

/** Compiles each query of one dialect at its first use. Building one costs more than running it. */
export class QueryCompiler {
  readonly #build: QueryBuilder
  /** Least recently used first. */
  readonly #compiled = new Map<string, CompiledQuery>()

  constructor(dialect: Dialect) {
    this.#build = queryBuilder(dialect)
  }

  compile(query: Query<never>): CompiledQuery {
    const compiled = this.#compiled.get(query.key) ?? compile(this.#build, queries[query.name] as BuildQuery, query.shape)
    this.#compiled.delete(query.key)
    this.#compiled.set(query.key, compiled)
    if (this.#compiled.size > maxCompiled) this.#compiled.delete(this.#compiled.keys().next().value ?? "")
    return compiled
  }
}

/** Throws if a constant became a parameter. */
export function compile(build: QueryBuilder, buildQuery: BuildQuery, shape: unknown): CompiledQuery {
  const { sql, parameters } = buildQuery(build, placeholders, shape).compile()
  const names = parameters.map((parameter) => {
    if (parameter instanceof Placeholder) return parameter.name
    throw new TypeError(`A constant of a query is written with sql.lit, got ${JSON.stringify(parameter)} in ${sql}`)
  })
  return { sql, parameters: names }
}

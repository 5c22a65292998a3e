import type { Dialect } from "../migrations/index.ts"
import type { families } from "./families.ts"

type Families = typeof families
export type QueryName = keyof Families
export type ArgsOf<N extends QueryName> = Parameters<Families[N]>[1]
type ShapeOf<N extends QueryName> = Parameters<Families[N]>[2]

/** One query of a family, not yet compiled for any dialect. */
export interface Query<Args = object> {
  /** The same for the same name and shape. */
  readonly key: string
  readonly name: QueryName
  readonly shape: unknown
  /** Exists for the compiler alone. */
  readonly takes?: (args: Args) => void
}

/** Names a query. A family without shapes takes none. */
export function query<N extends QueryName>(name: N, ...[shape]: ShapeOf<N> extends undefined ? [] : [ShapeOf<N>]): Query<ArgsOf<N>> {
  return {
    name,
    shape,
    key: shape === undefined ? name : typeof shape === "string" ? `${name} ${shape}` : `${name} ${JSON.stringify(shape)}`,
  }
}

/** The text of a query in one dialect, and which argument stands at each of its parameters. */
export interface Compiled {
  readonly sql: string
  readonly slots: readonly string[]
}

/**
 * Shapes kept beyond those that come compiled. People's filters make shapes, so there must be a
 * bound.
 */
const kept = 400

/**
 * The compiled queries of one dialect. Kysely is loaded when a query is asked for that did not come
 * compiled.
 */
export class Catalog {
  readonly dialect: Dialect
  readonly #ready: Map<string, Compiled>
  readonly #recent = new Map<string, Compiled>()

  constructor(dialect: Dialect, ready: Map<string, Compiled> = new Map()) {
    this.dialect = dialect
    this.#ready = ready
  }

  async compiled(query: Query): Promise<Compiled> {
    const known = this.#ready.get(query.key) ?? this.#recent.get(query.key)
    if (known) return known
    const [{ builder, compile }, { families }] = await Promise.all([import("./build.ts"), import("./families.ts")])
    const compiled = compile(builder(this.dialect), families[query.name], query.shape)
    if (this.#recent.size >= kept) this.#recent.delete(this.#recent.keys().next().value ?? "")
    this.#recent.set(query.key, compiled)
    return compiled
  }
}

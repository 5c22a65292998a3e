import type { queries } from "./registry.ts"

type Queries = typeof queries
export type QueryName = keyof Queries
export type ArgsOf<N extends QueryName> = Parameters<Queries[N]>[1]
type ShapeOf<N extends QueryName> = Parameters<Queries[N]>[2]

/** One query, not yet compiled for any dialect. */
export interface Query<Args = object> {
  /** Equal for queries with the same name and shape. */
  readonly key: string
  readonly name: QueryName
  /** Everything but the name that decides the query's text: a table, conditions, an order. */
  readonly shape: unknown
  /** Never set: it passes `Args` to the type checker. */
  readonly argsType?: (args: Args) => void
}

/** Names a query. A query whose text never varies has no shape. */
export function query<N extends QueryName>(name: N, ...[shape]: ShapeOf<N> extends undefined ? [] : [ShapeOf<N>]): Query<ArgsOf<N>> {
  return {
    name,
    shape,
    key: shape === undefined ? name : typeof shape === "string" ? `${name} ${shape}` : `${name} ${JSON.stringify(shape)}`,
  }
}

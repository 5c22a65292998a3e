import {
  DummyDriver,
  type Expression,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  type SqlBool,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from "kysely"
import type { Dialect } from "../migrations/index.ts"
import type { Schema } from "../tables/schema.ts"

type AnySchema = Record<string, Record<string, unknown>>

/**
 * The parts that queries are built with. Constants use `sql.lit`: SQLite uses partial indexes for
 * literals only.
 */
export interface QueryBuilder {
  readonly dialect: Dialect
  readonly db: Kysely<Schema>
  /** For queries whose table is part of the shape. */
  readonly anyTable: Kysely<AnySchema>
  /** Whether the column equals an element of a list, which is one argument. */
  among(column: Expression<unknown>, list: readonly unknown[]): Expression<SqlBool>
  /** The numbers of a list, which is one argument, as rows of one column `id`. */
  numbers(list: readonly number[]): RawBuilder<unknown>
  /**
   * The numbers and texts of two lists of the same length as rows of the columns `number`, `text`
   * and `position`, from 0.
   */
  pairs(numbers: readonly number[], texts: readonly string[]): RawBuilder<unknown>
  /**
   * The results of a subquery that selects `id`, for each number of a list, which is one argument.
   */
  forEach(list: readonly number[], subquery: (number: RawBuilder<unknown>) => RawBuilder<unknown>): RawBuilder<unknown>
  /** Whether the column contains each of the words, which are one argument. */
  holdsAll(column: Expression<string>, words: readonly string[]): Expression<SqlBool>
}

const dialects = {
  sqlite: { adapter: SqliteAdapter, compiler: SqliteQueryCompiler, introspector: SqliteIntrospector },
  postgres: { adapter: PostgresAdapter, compiler: PostgresQueryCompiler, introspector: PostgresIntrospector },
}

export function queryBuilder(dialect: Dialect): QueryBuilder {
  const { adapter, compiler, introspector } = dialects[dialect]
  const db = new Kysely<Schema>({
    dialect: {
      createAdapter: () => new adapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new introspector(db),
      createQueryCompiler: () => new compiler(),
    },
  })
  const anyTable: Kysely<AnySchema> = db.$extendTables()
  if (dialect === "postgres") {
    return {
      dialect,
      db,
      anyTable,
      among: (column, list) => sql<SqlBool>`${column} = any(${list})`,
      forEach: (list, subquery) =>
        sql`select found.id from unnest(${list}::bigint[]) as each(number) cross join lateral (${subquery(sql`each.number`)}) as found`,
      numbers: (list) => sql`select unnest(${list}::bigint[]) as id`,
      pairs: (numbers, texts) =>
        sql`select number, text, nth - 1 as position from unnest(${numbers}::bigint[], ${texts}::text[]) with ordinality as each(number, text, nth)`,
      holdsAll: (column, words) =>
        sql<SqlBool>`not exists (select 1 from unnest(${words}::text[]) as word where strpos(${column}, word) = 0)`,
    }
  }
  return {
    dialect,
    db,
    anyTable,
    among: (column, list) => sql<SqlBool>`${column} in (select value from json_each(${list}))`,
    // SQLite has no lateral joins.
    forEach: (list, subquery) =>
      sql`select found.value as id from json_each(${list}) as each, json_each((select json_group_array(id) from (${subquery(sql`each.value`)}))) as found`,
    numbers: (list) => sql`select value as id from json_each(${list})`,
    // Materialized, or the texts would be parsed again for each number.
    pairs: (numbers, texts) =>
      sql`with texts as materialized (select key, value from json_each(${texts})) select each.value as number, texts.value as text, each.key as position from json_each(${numbers}) as each join texts on texts.key = each.key`,
    holdsAll: (column, words) =>
      sql<SqlBool>`not exists (select 1 from json_each(${words}) as word where instr(${column}, word.value) = 0)`,
  }
}

import { readFile } from "node:fs/promises"
import type { Dialect } from "../migrations/index.ts"
import { Catalog, type Compiled } from "./catalog.ts"

/** A line for each query: its key, its text, its slots. */
type Line = [key: string, sql: string, slots: readonly string[]]

export const compiledFile = (dialect: Dialect) => new URL(`./compiled/${dialect}.jsonl`, import.meta.url)

/** The catalog with the usual queries in it. */
export async function loadCatalog(dialect: Dialect): Promise<Catalog> {
  const lines = (await readFile(compiledFile(dialect), "utf8")).trimEnd().split("\n")
  const parsed = lines.map((line) => JSON.parse(line) as Line)
  return new Catalog(dialect, new Map(parsed.map(([key, sql, slots]): [string, Compiled] => [key, { sql, slots }])))
}

/** The lines of the file that `loadCatalog` reads, made anew. */
export async function compileUsual(dialect: Dialect): Promise<string[]> {
  const [{ builder, compile }, { families }, { usualQueries }] = await Promise.all([
    import("./build.ts"),
    import("./families.ts"),
    import("./usual.ts"),
  ])
  const build = builder(dialect)
  return usualQueries().map(({ key, name, shape }) => {
    const { sql, slots } = compile(build, families[name], shape)
    return JSON.stringify([key, sql, slots] satisfies Line)
  })
}

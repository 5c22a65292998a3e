import { mkdir, writeFile } from "node:fs/promises"
import { compiledFile, compileUsual } from "./compiled.ts"

/**
 * `node src/store/sql/generate.ts` writes the usual queries, compiled, after a query or a table has
 * changed.
 */
for (const dialect of ["sqlite", "postgres"] as const) {
  await mkdir(new URL(".", compiledFile(dialect)), { recursive: true })
  await writeFile(compiledFile(dialect), `${(await compileUsual(dialect)).join("\n")}\n`)
}

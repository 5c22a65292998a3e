import type { Mutant } from "./mutant.ts"

/** Ways around the doors of the folders. */
export const layout: readonly Mutant[] = [
  line('import "../files/index.ts"', "a folder is imported around its index"),
  line('import "#files/handler.ts"', "a file other than a folder's index is imported"),
  line('import "#files"', "a folder imports one that comes after it"),
  line('import "./call"', "an import lacks the file's extension"),
  line('import "left-pad"', "a package that is no dependency is imported"),
  line('export const rows = "select id from runs"', "the gateway queries the database"),
  line("export const home = process.env.HOME", "the gateway reads the environment"),
  line('process.on("SIGTERM", () => {})', "the gateway catches signals"),
  line("export const end = () => process.exit(1)", "the gateway ends the process"),
  line('import "node:fs"', "the contract depends on Node", "src/contract/states.ts", "export const projectTypes"),
]

/** A line more in a file, which the test of the layout must notice. */
function line(text: string, fault: string, file = "src/gateway/run-directory.ts", before = "export interface RunDirectory {"): Mutant {
  return { file, fault, place: before, replace: `${text}\n${before}`, tests: ["test/architecture.test.ts"] }
}

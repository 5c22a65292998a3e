// A reporter for `node --test` with a line `pass NAME` or `fail FILE: NAME` for every test as it
// ends, so that the count survives a crash of the run. Suites and skipped tests do not count.

import { relative } from "node:path"

export async function* reportOutcomes(source) {
  for await (const { type, data } of source) {
    if (type !== "test:pass" && type !== "test:fail") continue
    if (data.details?.type === "suite" || data.skip !== undefined) continue
    if (type === "test:fail" && data.todo !== undefined) continue
    const name = data.name.replaceAll(/\s+/g, " ")
    const isLate = data.details?.error?.failureType === "testTimeoutFailure"
    const failure = `fail ${relative(process.cwd(), data.file ?? "")}: ${name}${isLate ? " (timed out)" : ""}\n`
    yield type === "test:pass" ? `pass ${name}\n` : failure
  }
}

// biome-ignore lint/style/noDefaultExport: Node takes a reporter from a module's default export
export default reportOutcomes

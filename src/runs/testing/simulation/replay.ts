import { parseArgs } from "node:util"
import { DatabaseFiles } from "./database-files.ts"
import { simulate } from "./simulation.ts"

/** Prints everything that happens in a seed: `node src/runs/testing/simulation/replay.ts SEED`. */
const { positionals } = parseArgs({ allowPositionals: true })
const seed = Number(positionals[0])
if (!Number.isSafeInteger(seed)) throw new TypeError(`A seed, a whole number, is wanted; got ${JSON.stringify(positionals[0])}`)
using files = await DatabaseFiles.make()
const { record, failure } = await simulate(seed, files)
for (const line of record.lines) process.stdout.write(`${line}\n`)
process.stdout.write(failure === undefined ? "All rules were kept\n" : `BROKEN: ${failure}\n`)
process.exitCode = failure === undefined ? 0 : 1

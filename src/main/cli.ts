import { runProgram } from "./program.ts"

process.exitCode = await runProgram(process.argv.slice(2), async (words) => (await import("./serve.ts")).serve(words))

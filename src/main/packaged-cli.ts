// The program of the npm package: the command line without the server.

import { runProgram } from "./program.ts"

process.exitCode = await runProgram(process.argv.slice(2), async () => {
  process.stderr.write(
    "quayside: The npm package holds the command line and the client, and no server.\n" +
      "Start a server from a checkout: `script/start`, or `npx quayside serve` there.\n",
  )
  return 1
})

import { createLogger } from "#kit"
import { serve } from "./serve.ts"

const usage = `quayside <command>

  serve       start the server (quayside serve --help lists its settings)
  version     print the version
`

/**
 * Runs one command. The exit code is 0, 1 if the command failed, or 2 if there is no such command.
 */
async function run([command, ...words]: readonly string[]): Promise<number> {
  switch (command) {
    case "serve":
      return serve(words)
    case "version":
    case "--version":
      process.stdout.write(`${(await import("./version.ts")).version}\n`)
      return 0
    case undefined:
    case "help":
    case "--help":
      process.stdout.write(usage)
      return 0
    default:
      process.stderr.write(`quayside: ${JSON.stringify(command)} is not a command.\n\n${usage}`)
      return 2
  }
}

process.exitCode = await run(process.argv.slice(2)).catch((error: unknown) => {
  createLogger("error").error({ err: error }, "quayside failed")
  return 1
})

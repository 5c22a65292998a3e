/**
 * Runs one command and returns its exit code. The server and the client are loaded only if they are
 * used: `quayside version` loads neither.
 */
export async function runProgram(words: readonly string[], serve: (words: readonly string[]) => Promise<number>): Promise<number> {
  const { version } = await import("./version.ts")
  if (words[0] === "serve") return serveOrLog(words.slice(1), serve)
  if (words.length === 1 && (words[0] === "--version" || words[0] === "version")) {
    process.stdout.write(`${version}\n`)
    return 0
  }
  const { runCommandLine } = await import("#cli")
  // The reader of a pipe, such as `head`, may leave before the end.
  process.stdout.on("error", () => process.exit(0))
  process.stderr.on("error", () => {})
  const { env, stdin, stdout, stderr, platform, execPath, argv } = process
  const program = [execPath, ...argv.slice(1, 2)]
  return runCommandLine({ env, stdin, stdout, stderr, platform, version, program, signal: interruption() }, words)
}

async function serveOrLog(words: readonly string[], serve: (words: readonly string[]) => Promise<number>): Promise<number> {
  try {
    return await serve(words)
  } catch (error) {
    const { createLogger } = await import("#kit")
    createLogger("error").error({ err: error }, "quayside failed")
    return 1
  }
}

/** Aborts at the first Ctrl-C. A second one ends the process at once. */
function interruption(): AbortSignal {
  const controller = new AbortController()
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (controller.signal.aborted) process.exit(130)
      controller.abort()
    })
  }
  return controller.signal
}

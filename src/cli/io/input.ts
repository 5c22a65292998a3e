import { once } from "node:events"
import { createInterface } from "node:readline/promises"
import { Writable } from "node:stream"
import type { Cli } from "./cli.ts"
import { CliError, type ExitCode, exitCodes } from "./failures.ts"
import { usageError } from "./formats.ts"

const maxSecretBytes = 4_096

/** A secret from standard input, without the end of its line. */
export async function readSecret(cli: Cli, option: string): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of cli.process.stdin) {
    size += (chunk as Buffer).length
    if (size > maxSecretBytes) throw usageError(`${option} must be at most ${maxSecretBytes} bytes; more came`)
    chunks.push(chunk as Buffer)
  }
  const text = Buffer.concat(chunks)
    .toString("utf8")
    .replace(/\r?\n$/, "")
  if (text === "" || /[\r\n]/.test(text))
    throw usageError(`${option} needs one line on standard input; got ${text === "" ? "nothing" : "several"}`)
  return text
}

/** Asks for a line that is not shown. Its input must be a terminal. */
export async function askSecret(cli: Cli, question: string): Promise<string> {
  const { stdin, stderr, signal } = cli.process
  stderr.write(question)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({ input: stdin, output: silent, terminal: true })
  reader.once("SIGINT", () => reader.close())
  const closed = once(reader, "close").then(() => {
    throw new CliError("Interrupted.", { exitCode: exitCodes.interrupted })
  })
  // It is closed after an answer too, when nobody waits for it any more.
  closed.catch(() => {})
  const answer = await Promise.race([reader.question("", { signal }), closed]).finally(() => {
    reader.close()
    stderr.write("\n")
  })
  if (answer.trim() === "") throw usageError("Nothing was pasted.")
  return answer.trim()
}

/** Asks before something is lost. Without a terminal, `--yes` must say it. */
export async function confirm(cli: Cli, question: string, { yes }: { yes?: boolean }): Promise<void> {
  if (yes) return
  if (!cli.canAsk) throw usageError(`${question} Without a terminal, --yes is needed.`)
  const { stdin, stderr, signal } = cli.process
  const reader = createInterface({ input: stdin, output: stderr })
  const answer = await reader.question(`${question} [y/N] `, { signal }).finally(() => reader.close())
  const exitCode: ExitCode = exitCodes.interrupted
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError("Nothing was changed.", { exitCode })
}

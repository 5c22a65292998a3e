import { PassThrough } from "node:stream"
import { runCommandLine } from "#cli"
import { eventually } from "../fixtures/eventually.ts"
import { type CommandLine, collector, type Outcome, outcome } from "./program.ts"

/** A `login` on a terminal that has printed the address of its page, and waits. */
export interface WaitingLogin {
  /** The address that it opened in the browser. */
  readonly page: URL
  /** Presses Ctrl-C. */
  interrupt(): void
  readonly ended: Promise<Outcome>
}

/** The command starts a browser that does nothing; the test is the browser. */
export async function startLogin(cli: CommandLine, server: string, ...words: string[]): Promise<WaitingLogin> {
  const [stdout, stderr] = [collector(), collector()]
  const stdin = Object.assign(new PassThrough(), { isTTY: true })
  const controller = new AbortController()
  const env = { HOME: cli.directory, XDG_CONFIG_HOME: `${cli.directory}/config`, BROWSER: "true" }
  const process = { env, platform: "linux" as const, version: "0", program: [], signal: controller.signal }
  const streams = { stdin, stdout: stdout.stream, stderr: Object.assign(stderr.stream, { isTTY: true, columns: 80 }) }
  const ended = runCommandLine({ ...process, ...streams }, ["login", server, ...words]).then((code) =>
    outcome(code, stdout.text(), stderr.text()),
  )
  const address = () => /Opening (\S+)\n/.exec(stderr.text())?.[1]
  const early = ended.then(({ stderr: text }) => Promise.reject(new Error(text)))
  await Promise.race([eventually("login opens its page", () => address() !== undefined), early])
  early.catch(() => {})
  return { page: new URL(String(address())), interrupt: () => controller.abort(), ended }
}

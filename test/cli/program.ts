import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"
import { runCommandLine } from "#cli"

const program = fileURLToPath(new URL("../../bin/quayside.js", import.meta.url))

export interface Outcome {
  code: number | null
  stdout: string
  stderr: string
  /** Standard output as JSON. */
  json<T = Record<string, unknown>>(): T
}

export interface RunOptions {
  input?: string
  env?: Record<string, string>
  /** Interrupts it as Ctrl-C does. */
  signal?: AbortSignal
  onOutput?: (text: string) => void
}

/** The command line with a home of its own. */
export interface CommandLine extends AsyncDisposable {
  readonly directory: string
  /** Runs a command in this process: the same code without the start of a program. */
  run(words: readonly string[], options?: RunOptions): Promise<Outcome>
  /** Runs a command in a process of its own, as people do. */
  spawn(words: readonly string[], options?: RunOptions): Promise<Outcome>
}

export async function openCommandLine(): Promise<CommandLine> {
  const directory = await mkdtemp(join(tmpdir(), "quayside-cli-"))
  const home = {
    PATH: process.env.PATH ?? "",
    HOME: directory,
    XDG_CONFIG_HOME: join(directory, "config"),
    XDG_STATE_HOME: join(directory, "state"),
  }
  return {
    directory,
    run: (words, options) => runHere(words, { ...options, env: { ...home, ...options?.env } }),
    spawn: (words, options) => runThere(words, directory, { ...options, env: { ...home, ...options?.env } }),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  }
}

async function runHere(words: readonly string[], { input = "", env = {}, signal = new AbortController().signal, onOutput }: RunOptions) {
  const [stdout, stderr] = [collector(onOutput), collector(onOutput)] as const
  const stdin = Readable.from([Buffer.from(input)])
  const state = { env, stdin, platform: process.platform, version: "0.0.0", program: [process.execPath, program], signal }
  const code = await runCommandLine({ ...state, stdout: stdout.stream, stderr: stderr.stream }, words)
  return outcome(code, stdout.text(), stderr.text())
}

async function runThere(words: readonly string[], cwd: string, { input = "", env = {}, signal, onOutput }: RunOptions): Promise<Outcome> {
  const child = spawn(process.execPath, [program, ...words], { cwd, env, stdio: "pipe" })
  signal?.addEventListener("abort", () => child.kill("SIGINT"))
  const [stdout, stderr] = [collector(onOutput), collector(onOutput)] as const
  child.stdout.pipe(stdout.stream)
  child.stderr.pipe(stderr.stream)
  child.stdin.end(input)
  const [code] = (await once(child, "close")) as [number | null]
  return outcome(code, stdout.text(), stderr.text())
}

export function collector(onOutput: (text: string) => void = () => {}) {
  let text = ""
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      text += chunk
      onOutput(String(chunk))
      done()
    },
  })
  return { stream, text: () => text }
}

export function outcome(code: number | null, stdout: string, stderr: string): Outcome {
  return { code, stdout, stderr, json: <T>() => JSON.parse(stdout) as T }
}

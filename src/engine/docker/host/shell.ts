import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { EngineError } from "../../engine.ts"
import { childEnvironment } from "./child-environment.ts"

/** The exit code and the output of a program. */
export interface CommandResult {
  code: number
  /**
   * Standard output, followed by standard error if the program failed. A warning could otherwise
   * stand in the middle of a line.
   */
  output: string
}

interface QueuedCommand {
  line: string
  resolve: (ended: CommandResult) => void
  reject: (error: Error) => void
}

/** A program that takes longer is killed, and the shell with it. */
const defaultTimeoutMs = 15_000

/**
 * Runs the host's small tools, one after another, from a persistent shell. A fork stops the forking
 * process, the longer the more memory it has. For a server these are milliseconds without any
 * answer, for a shell next to nothing.
 *
 * The shell starts with the first command and keeps no process alive. It ends with this process,
 * however this one ends.
 */
export class Shell {
  readonly #waiting: QueuedCommand[] = []
  readonly #mark = randomBytes(16).toString("hex")
  readonly #timeoutMs: number
  #child: ChildProcess | undefined
  #printed = { stdout: "", stderr: "" }
  #timeout: NodeJS.Timeout | undefined

  constructor({ timeoutMs = defaultTimeoutMs }: { timeoutMs?: number } = {}) {
    this.#timeoutMs = timeoutMs
  }

  /**
   * Resolves when the program has ended, with code 127 if it does not exist. Rejects with an
   * `EngineError` if the program hangs or the shell is killed.
   */
  run(words: readonly string[], input = ""): Promise<CommandResult> {
    const { promise, resolve, reject } = Promise.withResolvers<CommandResult>()
    this.#waiting.push({ line: this.#lineOf(words, input), resolve, reject })
    if (this.#waiting.length === 1) this.#next()
    return promise
  }

  #lineOf(words: readonly string[], input: string): string {
    const command = words.map(quoted).join(" ")
    const withInput =
      input === "" ? `${command} </dev/null` : `${command} <<'${this.#mark}'\n${input}${input.endsWith("\n") ? "" : "\n"}${this.#mark}`
    return `${withInput}\nprintf '\\n${this.#mark} %s\\n' $?\nprintf '\\n${this.#mark} \\n' >&2\n`
  }

  #next(): void {
    const [command] = this.#waiting
    if (!command) return void setKeepAlive(this.#child, false)
    this.#child ??= this.#start()
    setKeepAlive(this.#child, true)
    this.#printed = { stdout: "", stderr: "" }
    this.#timeout = setTimeout(() => this.#killHung(), this.#timeoutMs)
    this.#child.stdin?.write(command.line)
  }

  /** Uses a process group of its own, since a terminal's signals are meant for the server only. */
  #start(): ChildProcess {
    const child = spawn("/bin/sh", [], { stdio: ["pipe", "pipe", "pipe"], env: childEnvironment, cwd: "/", detached: true })
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (text: string) => {
        // A process that outlives a killed shell may still write.
        if (this.#child === child) this.#receive(name, text)
      })
    }
    child.stdin?.on("error", () => {})
    const gone = (error: Error) => {
      if (this.#child === child) this.#restart(error)
    }
    child.on("error", gone)
    child.on("exit", () => gone(new EngineError("engine_error", "The shell that runs the host's tools was ended")))
    return child
  }

  #receive(name: "stdout" | "stderr", text: string): void {
    this.#printed[name] += text
    const [out, error] = [this.#untilMark("stdout"), this.#untilMark("stderr")]
    if (!out || !error) return
    const code = Number(out.rest)
    this.#shift()?.resolve({ code, output: code === 0 ? out.text : out.text + error.text })
    this.#next()
  }

  #untilMark(name: "stdout" | "stderr"): { text: string; rest: string } | undefined {
    const printed = this.#printed[name]
    const at = printed.lastIndexOf(`\n${this.#mark} `)
    if (at < 0 || !printed.endsWith("\n")) return undefined
    return { text: printed.slice(0, at), rest: printed.slice(at + this.#mark.length + 2) }
  }

  #shift(): QueuedCommand | undefined {
    clearTimeout(this.#timeout)
    return this.#waiting.shift()
  }

  /** The remaining commands run in a new shell. */
  #restart(error: Error): void {
    this.#child = undefined
    this.#shift()?.reject(error)
    this.#next()
  }

  #killHung(): void {
    const { pid } = this.#child ?? {}
    if (pid !== undefined) killProcessGroup(pid)
    this.#restart(new EngineError("engine_error", `A tool of the host did not end within ${this.#timeoutMs / 1_000} s`))
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

/** Sets whether the shell keeps this process alive. */
function setKeepAlive(child: ChildProcess | undefined, keepAlive: boolean): void {
  const ends = [child, child?.stdin, child?.stdout, child?.stderr] as (Partial<Record<"ref" | "unref", () => void>> | null | undefined)[]
  for (const each of ends) each?.[keepAlive ? "ref" : "unref"]?.()
}

function killProcessGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // The shell has just ended by itself.
  }
}

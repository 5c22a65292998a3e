import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { EngineError } from "../../engine.ts"
import { childEnvironment } from "./child-environment.ts"

/** How a program ended. */
export interface ToolResult {
  code: number
  /** All it printed, errors too. */
  output: string
}

interface QueuedCommand {
  line: string
  resolve: (ended: ToolResult) => void
  reject: (error: Error) => void
}

/** A program that takes longer hangs: it is ended, and with it the shell. */
const defaultTimeoutMs = 15_000

/**
 * Runs the host's small tools, one after another, from a shell that stays. Whoever forks stands
 * still until it has happened, the longer the more memory it has: for a server that is milliseconds
 * in which nobody is answered, for a shell next to nothing.
 *
 * The shell is started when it is first needed and keeps no process alive; it ends with this one,
 * however this one ends.
 */
export class Shell {
  readonly #waiting: QueuedCommand[] = []
  readonly #mark = randomBytes(16).toString("hex")
  readonly #timeoutMs: number
  #child: ChildProcess | undefined
  #printed = ""
  #timeout: NodeJS.Timeout | undefined

  constructor({ timeoutMs = defaultTimeoutMs }: { timeoutMs?: number } = {}) {
    this.#timeoutMs = timeoutMs
  }

  /**
   * Resolves when the program has ended, also where there is none of that name (code 127). Rejects
   * with an `EngineError` when it hangs, or the shell was ended.
   */
  run(words: readonly string[], input = ""): Promise<ToolResult> {
    const { promise, resolve, reject } = Promise.withResolvers<ToolResult>()
    this.#waiting.push({ line: this.#lineOf(words, input), resolve, reject })
    if (this.#waiting.length === 1) this.#next()
    return promise
  }

  #lineOf(words: readonly string[], input: string): string {
    const command = `${words.map(quoted).join(" ")} 2>&1`
    const told =
      input === "" ? `${command} </dev/null` : `${command} <<'${this.#mark}'\n${input}${input.endsWith("\n") ? "" : "\n"}${this.#mark}`
    return `${told}\nprintf '\\n${this.#mark} %s\\n' $?\n`
  }

  #next(): void {
    const [command] = this.#waiting
    if (!command) return void setKeepAlive(this.#child, false)
    this.#child ??= this.#start()
    setKeepAlive(this.#child, true)
    this.#printed = ""
    this.#timeout = setTimeout(() => this.#end(), this.#timeoutMs)
    this.#child.stdin?.write(command.line)
  }

  /** In a group of its own: what a terminal tells the server's group is for the server. */
  #start(): ChildProcess {
    const child = spawn("/bin/sh", [], { stdio: ["pipe", "pipe", "ignore"], env: childEnvironment, cwd: "/", detached: true })
    child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#receive(text))
    child.stdin?.on("error", () => {})
    const gone = (error: Error) => {
      if (this.#child === child) this.#restart(error)
    }
    child.on("error", gone)
    child.on("exit", () => gone(new EngineError("engine_error", "The shell that runs the host's tools was ended")))
    return child
  }

  #receive(text: string): void {
    this.#printed += text
    const at = this.#printed.lastIndexOf(`\n${this.#mark} `)
    if (at < 0 || !this.#printed.endsWith("\n")) return
    const code = Number(this.#printed.slice(at + this.#mark.length + 2))
    this.#done()?.resolve({ code, output: this.#printed.slice(0, at) })
    this.#next()
  }

  #done(): QueuedCommand | undefined {
    clearTimeout(this.#timeout)
    return this.#waiting.shift()
  }

  /** The others go on with another shell. */
  #restart(error: Error): void {
    this.#child = undefined
    this.#done()?.reject(error)
    this.#next()
  }

  #end(): void {
    const { pid } = this.#child ?? {}
    if (pid !== undefined) killGroup(pid)
    this.#restart(new EngineError("engine_error", `A tool of the host did not end within ${this.#timeoutMs / 1_000} s`))
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

/** Whether this process waits for the shell when it has nothing else to do. */
function setKeepAlive(child: ChildProcess | undefined, wanted: boolean): void {
  const ends = [child, child?.stdin, child?.stdout] as (Partial<Record<"ref" | "unref", () => void>> | null | undefined)[]
  for (const each of ends) each?.[wanted ? "ref" : "unref"]?.()
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // It has just ended by itself.
  }
}

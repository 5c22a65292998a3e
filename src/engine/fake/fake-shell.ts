import { setTimeout as pause } from "node:timers/promises"
import type { ExecOutput, TerminalSize } from "../exec.ts"

/** The surroundings of a command of the fake shell. */
export interface FakeCommandContext {
  readonly env: Readonly<Record<string, string>>
  readonly workDir: string
  readonly hasTerminal: boolean
  readonly size: TerminalSize
  /** Aborted by Ctrl-C and by the end of the program. */
  readonly signal: AbortSignal
  print(text: string | Uint8Array, stream?: ExecOutput["stream"]): Promise<void>
  /** Undefined at the end of the input. */
  readInput(): Promise<Uint8Array | undefined>
}

type FakeCommand = (context: FakeCommandContext, words: readonly string[]) => number | Promise<number>

/** The commands that exist in a fake container. */
export const fakeCommands: Readonly<Record<string, FakeCommand>> = {
  true: () => 0,
  false: () => 1,
  exit: (_, [code = "0"]) => Number(code) || 0,
  async echo(context, words) {
    await context.print(`${words.join(" ")}\n`)
    return 0
  },
  async warn(context, words) {
    await context.print(`${words.join(" ")}\n`, "stderr")
    return 0
  },
  async pwd(context) {
    await context.print(`${context.workDir}\n`)
    return 0
  },
  async env(context) {
    for (const [name, value] of Object.entries(context.env)) await context.print(`${name}=${value}\n`)
    return 0
  },
  /** The terminal's size, as `stty size` prints it. */
  async stty(context) {
    const { size, hasTerminal } = context
    if (!hasTerminal) return 1
    await context.print(`${size.rows} ${size.columns}\n`)
    return 0
  },
  async cat(context) {
    for (let data = await context.readInput(); data; data = await context.readInput()) await context.print(data)
    return 0
  },
  /** Prints a line again and again until it is ended. */
  async yes(context, [word = "y"]) {
    const { signal } = context
    while (!signal.aborted) {
      await context.print(`${word}\n`.repeat(1_000))
      await pause(0)
    }
    return 130
  },
  async sleep({ signal }, [seconds = "0"]) {
    const isOver = await pause(Number(seconds) * 1_000, true, { signal }).catch(() => false)
    return isOver ? 0 : 130
  },
}

/** Runs commands that are separated by semicolons. */
export async function runLine(context: FakeCommandContext, line: string): Promise<number> {
  let code = 0
  for (const part of line.split(";")) {
    const [name = "", ...words] = part.trim().split(/\s+/)
    if (name === "") continue
    if (!Object.hasOwn(fakeCommands, name)) {
      await context.print(`sh: ${name}: not found\n`, "stderr")
      code = 127
    } else code = (await fakeCommands[name]?.(context, words)) ?? 0
    if (name === "exit" || context.signal.aborted) return code
  }
  return code
}

/** Reads lines and runs each, until `exit` or the end of the input. */
export async function runShell(context: FakeCommandContext): Promise<number> {
  const decoder = new TextDecoder()
  const prompt = context.hasTerminal ? "$ " : ""
  let line = ""
  let code = 0
  await context.print(prompt)
  for (;;) {
    const { signal } = context
    const data = await context.readInput()
    if (!data && signal.aborted) {
      if (context.signal.aborted) return 129
      line = ""
      await context.print(`^C\n${prompt}`)
      continue
    }
    if (!data) return code
    for (const character of decoder.decode(data, { stream: true })) {
      if (character === "\u0004" && context.hasTerminal && line === "") return code
      if (context.hasTerminal) await context.print(character === "\r" ? "\n" : character)
      if (character !== "\r" && character !== "\n") {
        line += character
        continue
      }
      code = await runLine(context, line)
      if (/^\s*exit\b/.test(line)) return code
      line = ""
      await context.print(prompt)
    }
  }
}

import { type ChildProcessByStdio, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"

/** A process that ends with the test, and its output line by line. */
export interface TestProcess extends AsyncDisposable {
  /** The next line; undefined after the process has ended. */
  line(): Promise<string | undefined>
  /** SIGKILL; returns the unread lines. */
  kill(): Promise<string[]>
}

/** Runs one of `programs/` with arguments. */
export function startProgram(name: string, ...args: string[]): TestProcess {
  const file = new URL(`./programs/${name}.ts`, import.meta.url).pathname
  return followed(spawn(process.execPath, [file, ...args], { stdio: ["ignore", "pipe", "inherit"] }))
}

function followed(child: ChildProcessByStdio<null, Readable, null>): TestProcess {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const exit = once(child, "exit")
  const line = async () => {
    const next = await lines.next()
    return next.done ? undefined : next.value
  }
  const kill = async () => {
    child.kill("SIGKILL")
    await exit
    const rest: string[] = []
    for (let text = await line(); text !== undefined; text = await line()) rest.push(text)
    return rest
  }
  return {
    line,
    kill,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL")
      await exit
    },
  }
}

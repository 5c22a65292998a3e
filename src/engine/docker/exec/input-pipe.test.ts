import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { openInputPipe } from "./input-pipe.ts"

/** A text that the control groups of this process's children have, too. */
const container = readFileSync("/proc/self/cgroup", "latin1").trim().split("\n", 1)[0] as string

/** A program whose input is a pipe that another one has open. It prints the first line of it. */
async function pipedProgram() {
  const shell = spawn("sh", ["-c", `sleep 100 | sh -c 'echo $$; exec head -n 1'`], { stdio: ["ignore", "pipe", "ignore"], detached: true })
  const output = shell.stdout[Symbol.asyncIterator]()
  const leader = Number((await output.next()).value)
  return {
    session: { container, init: 0, leader },
    printed: async () => String((await output.next()).value),
    [Symbol.dispose]: () => void process.kill(-(shell.pid as number), "SIGKILL"),
  }
}

test("a program reads what is written to its pipe", async () => {
  using program = await pipedProgram()
  const pipe = openInputPipe(program.session)
  pipe?.end("through the pipe\n")
  assert.equal(await program.printed(), "through the pipe\n")
})

test("the input of another container's program, a file and a program that has ended are not opened", async () => {
  using program = await pipedProgram()
  assert.equal(openInputPipe({ ...program.session, container: "another container" }), undefined)
  using ofNothing = spawn("sleep", ["100"], { stdio: "ignore" })
  assert.equal(openInputPipe({ container, init: 0, leader: ofNothing.pid as number }), undefined)
  const ended = spawn("true", { stdio: "ignore" })
  await once(ended, "exit")
  assert.equal(openInputPipe({ container, init: 0, leader: ended.pid as number }), undefined)
})

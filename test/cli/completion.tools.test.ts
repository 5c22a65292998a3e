import assert from "node:assert/strict"
import { execFile, spawn } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { after, test } from "node:test"
import { promisify } from "node:util"
import { openCommandLine } from "./program.ts"

const cli = await openCommandLine()
after(() => cli[Symbol.asyncDispose]())

async function completionFile(shell: string): Promise<string> {
  const { stdout } = await cli.run(["completion", shell])
  const file = join(cli.directory, `completion.${shell}`)
  await writeFile(file, stdout)
  return file
}

const shells = {
  bash: { words: ["bash", "--norc", "--noprofile", "-i"], start: "" },
  zsh: { words: ["zsh", "-f", "-i"], start: "autoload -Uz compinit; compinit -u -D; " },
}

/** Presses the tab key on a terminal. `quayside` prints the words that it is called with. */
async function typed(shell: keyof typeof shells, lines: readonly string[]): Promise<string> {
  const { words, start } = shells[shell]
  const file = await completionFile(shell)
  const terminal = spawn("script", ["--quiet", "--return", "--command", words.join(" "), "/dev/null"], {
    cwd: cli.directory,
    env: { ...process.env, HOME: cli.directory, TERM: "dumb", PS1: "$ " },
  })
  const output = terminal.stdout.toArray()
  terminal.stdin.write(`${start}source ${file}; quayside() { printf 'called with %s\\n' "$*"; }\n${lines.join("\n")}\nexit\n`)
  await new Promise((resolve) => terminal.once("close", resolve))
  return Buffer.concat(await output).toString()
}

for (const shell of ["bash", "zsh"] as const) {
  test(`the tab key completes commands, commands below them, options and files in ${shell}`, async () => {
    await writeFile(join(cli.directory, "spectra.csv"), "")
    const lines = ["quayside whoa\t", "quayside data pu\tl\t", "quayside start --cp\t", "quayside data push spec\t"]
    const shown = await typed(shell, lines)
    assert.match(shown, /called with whoami/)
    assert.match(shown, /called with data pull/)
    assert.match(shown, /called with start --cpus/)
    assert.match(shown, /called with data push spectra\.csv/)
  })
}

test("fish completes commands, commands below them and options, with their descriptions", async () => {
  const file = await completionFile("fish")
  const completed = async (line: string) => {
    const words = ["--no-config", "--command", `source ${file}; complete --do-complete ${JSON.stringify(line)}`]
    return (await promisify(execFile)("fish", words, { env: { ...process.env, HOME: cli.directory } })).stdout
  }
  assert.match(await completed("quayside whoa"), /^whoami\tShow who you are/)
  const below = await completed("quayside data ")
  assert.match(below, /^push\t/m)
  assert.doesNotMatch(below, /^whoami\t/m)
  assert.match(await completed("quayside start --gp"), /^--gpus$/m)
})

// Puts one small fault at a time into a copy of the tree and runs the tests that should notice.
// Usage: node script/mutants.ts [REPORT]   One line for each fault on standard output; exit code 0 only when all were caught.
// The report gets a line `pass …` or `fail …` for each.

import { execFileSync, spawn } from "node:child_process"
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { type Mutant, mutants } from "../test/mutants.ts"

const root = resolve(import.meta.dirname, "..")
const report = process.argv[2]
/** Copies at work at once: as many as there are processors here and on the machines that run the tests. */
const workers = 2

interface Verdict {
  caught: boolean
  /** What caught it, or why nothing did. */
  by: string
}

const sound = copyOfTree()
const before = await runTests(sound, [...new Set(mutants.flatMap(({ tests }) => tests))])
rmSync(sound, { recursive: true })
rmSync(`${sound}.outcomes`, { force: true })
if (before.caught) {
  process.stderr.write(`Without any fault this fails already: ${before.by}\n`)
  process.exit(1)
}

const queue = [...mutants.entries()]
const verdicts = await Promise.all(Array.from({ length: workers }, work))
process.exitCode = verdicts.flat().every((caught) => caught) ? 0 : 1

async function work(): Promise<boolean[]> {
  const copy = copyOfTree()
  const caught: boolean[] = []
  try {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [at, mutant] = next
      const verdict = await examine(copy, mutant)
      tell(`${at + 1}/${mutants.length} ${mutant.file}: ${mutant.fault}`, verdict)
      caught.push(verdict.caught)
    }
  } finally {
    rmSync(copy, { recursive: true })
    rmSync(`${copy}.outcomes`, { force: true })
  }
  return caught
}

function tell(what: string, { caught, by }: Verdict): void {
  process.stdout.write(caught ? `caught    ${what}\n          by: ${by}\n` : `SURVIVED  ${what}\n          ${by}\n`)
  if (report !== undefined) appendFileSync(report, caught ? `pass ${what}\n` : `fail not caught: ${what}\n`)
}

async function examine(copy: string, { file, find, replace, tests }: Mutant): Promise<Verdict> {
  const path = join(copy, file)
  const sound = readFileSync(path, "utf8")
  const places = sound.split(find).length - 1
  if (places !== 1) return { caught: false, by: `The text to replace stands there ${places} times; once is wanted` }
  writeFileSync(
    path,
    sound.replace(find, () => replace),
  )
  try {
    return await runTests(copy, tests)
  } finally {
    writeFileSync(path, sound)
  }
}

/** The first test that fails, in the order in which they end. */
function runTests(copy: string, tests: readonly string[]): Promise<Verdict> {
  const outcomes = `${copy}.outcomes`
  rmSync(outcomes, { force: true })
  const options = ["--test", "--test-timeout=60000", "--test-force-exit", `--test-reporter=${join(root, "script/lib/outcomes.mjs")}`]
  const child = spawn(process.execPath, [...options, `--test-reporter-destination=${outcomes}`, ...tests], { cwd: copy, stdio: "ignore" })
  return new Promise((done) => {
    child.on("exit", (code) => {
      const failed = readFileSync(outcomes, "utf8").match(/^fail (.*)$/m)?.[1]
      if (code === 0) done({ caught: false, by: `All of these passed: ${tests.join(", ")}` })
      else done({ caught: true, by: failed ?? `exit code ${code}` })
    })
  })
}

/** What git knows, and what is new and not ignored, with the packages of the original. */
function copyOfTree(): string {
  const copy = mkdtempSync(join(tmpdir(), "quayside-mutants-"))
  const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], { cwd: root, encoding: "utf8" }).split("\0")
  for (const file of files.filter((name) => name !== "" && !name.startsWith("images/"))) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    cpSync(join(root, file), join(copy, file), { force: true })
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
  // The test of the layout asks git for the files.
  execFileSync("git", ["init", "--quiet", copy])
  writeFileSync(join(copy, ".git/info/exclude"), "/node_modules\n")
  return copy
}

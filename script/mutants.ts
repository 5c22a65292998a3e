// Puts one small fault at a time into a copy of the tree and runs the tests that should fail.
// Usage: node script/mutants.ts [--part NAME]… [--fault WORDS]… [--docker | --no-docker]
// [--deadline SECONDS] [REPORT]
//
// Default: all parts of test/mutants/index.ts. --fault selects the faults whose descriptions
// contain the words. Faults for tests with Docker are last, one at a time; --docker selects only
// them, --no-docker all others. They need root, and a daemon, a network and processes of their own,
// which end with them. A fault whose tests do not end within --deadline (300) is caught.
//
// Prints one line for each fault, and appends `pass …` or `fail …` to the report. Exit code 0 means
// that all faults were caught.

import { spawn } from "node:child_process"
import { appendFileSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { parseArgs } from "node:util"
import { hanging, locateFaults, type Mutant, needsDocker, parts, type Range } from "../test/mutants/index.ts"
import { type IsolatedEnvironment, openIsolatedEnvironment } from "./lib/isolated-environment.ts"
import { copyTree, type TreeCopy } from "./lib/tree-copy.ts"

const root = resolve(import.meta.dirname, "..")
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    part: { type: "string", multiple: true },
    fault: { type: "string", multiple: true },
    docker: { type: "boolean" },
    "no-docker": { type: "boolean" },
    deadline: { type: "string", default: "300" },
  },
})
const report = positionals[0]
/** Copies in use at once: the number of processors of the machines that run the tests. */
const workers = 2
/**
 * Time limit of the tests of one fault. A test's own limit never expires in a process that the
 * fault blocks.
 */
const deadlineMs = Number(values.deadline) * 1_000
if (!(deadlineMs > 0)) throw new TypeError(`--deadline must be a number of seconds; got ${JSON.stringify(values.deadline)}`)
/** Time limit of all tests without any fault, per file. */
const soundMs = 5 * 60_000
/** Every test starts the first one. */
const images = ["quayside-test/busybox", "quayside-test/ssh-tools", "quayside/python-app", "quayside/jupyterlab", "debian:bookworm"]

interface Verdict {
  caught: boolean
  /** The test that failed, or the reason why none did. */
  by: string
}

/** Functions that end the running tests. */
const stops = new Set<() => unknown>()
let isOver = false
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    isOver = true
    process.exitCode = 1
    for (const stop of stops) stop()
  })
}
const all = chosen()
const places = locateFaults(root, all)
const rounds = [
  { mutants: values.docker ? [] : all.filter((mutant) => !needsDocker(mutant)), workers },
  { mutants: values["no-docker"] ? [] : all.filter(needsDocker), workers: 1 },
]
for (const round of rounds) {
  if (round.mutants.length === 0 || isOver) continue
  await using environment = round.mutants.some(needsDocker) ? await openIsolatedEnvironment(imagesOf(round.mutants)) : undefined
  if (!(await isSound(round.mutants, environment))) {
    process.exitCode = 1
    break
  }
  const queue = [...round.mutants.entries()]
  const total = round.mutants.length
  const verdicts = await Promise.all(Array.from({ length: round.workers }, () => work({ queue, total, environment })))
  if (!verdicts.flat().every((caught) => caught)) process.exitCode = 1
}

function chosen(): readonly Mutant[] {
  const known: typeof parts = { ...parts, hanging }
  const wrong = values.part?.find((name) => known[name] === undefined)
  if (wrong !== undefined) throw new TypeError(`--part must be one of ${Object.keys(known).join(", ")}; got ${JSON.stringify(wrong)}`)
  const all = (values.part ?? Object.keys(parts)).flatMap((name) => known[name] ?? [])
  return all.filter(({ fault }) => values.fault?.some((words) => fault.includes(words)) ?? true)
}

/** Images that the tests start. None is pulled. */
function imagesOf(mutants: readonly Mutant[]): string[] {
  const files = [...new Set(mutants.flatMap(({ tests }) => tests))]
  const text = files.map((file) => readFileSync(join(root, file), "utf8")).join()
  return images.filter((name, n) => n === 0 || text.includes(name))
}

/** Checks that all tests pass without a fault: one that fails would catch every fault. */
async function isSound(mutants: readonly Mutant[], environment: IsolatedEnvironment | undefined): Promise<boolean> {
  using copy = copyTree(root)
  const tests = [...new Set(mutants.flatMap((mutant) => mutant.tests))]
  const verdict = await runTests({ copy, tests, environment, ms: tests.length * soundMs })
  if (verdict.caught && !isOver) process.stderr.write(`Without any fault this fails already: ${verdict.by}\n`)
  return !verdict.caught && !isOver
}

interface Work {
  queue: [number, Mutant][]
  total: number
  environment: IsolatedEnvironment | undefined
}

async function work({ queue, total, environment }: Work): Promise<boolean[]> {
  using copy = copyTree(root)
  const caught: boolean[] = []
  for (let next = queue.shift(); next && !isOver; next = queue.shift()) {
    const [at, mutant] = next
    const verdict = await examine(copy, mutant, environment)
    if (isOver) break
    tell(`${at + 1}/${total} ${mutant.file}: ${mutant.fault}`, verdict)
    caught.push(verdict.caught)
  }
  return caught
}

function tell(what: string, { caught, by }: Verdict): void {
  process.stdout.write(caught ? `caught    ${what}\n          by: ${by}\n` : `SURVIVED  ${what}\n          ${by}\n`)
  if (report !== undefined) appendFileSync(report, caught ? `pass ${what}\n` : `fail not caught: ${what}\n`)
}

async function examine(copy: TreeCopy, mutant: Mutant, environment: IsolatedEnvironment | undefined): Promise<Verdict> {
  const { file, replace, tests } = mutant
  const path = join(copy.path, file)
  const sound = readFileSync(path, "utf8")
  const { start, end } = places.get(mutant) as Range
  writeFileSync(path, sound.slice(0, start) + replace + sound.slice(end))
  try {
    return await runTests({ copy, tests, environment, ms: deadlineMs })
  } finally {
    writeFileSync(path, sound)
  }
}

interface Tests {
  copy: TreeCopy
  tests: readonly string[]
  environment: IsolatedEnvironment | undefined
  ms: number
}

/**
 * Runs the tests until the first failure, then stops the others with everything that they started:
 * processes, and with Docker also containers, networks, rules and mounts.
 */
async function runTests({ copy, tests, environment, ms }: Tests): Promise<Verdict> {
  // The previous tests may have left something.
  await environment?.stop()
  await environment?.start()
  const options = [
    "--test",
    "--test-timeout=120000",
    "--test-force-exit",
    `--test-reporter=${join(root, "script/lib/outcome-reporter.mjs")}`,
  ]
  const [word = "", ...words] = [...(environment?.commandPrefix(copy.path) ?? []), process.execPath, ...options, ...tests]
  const env = { ...process.env, TMPDIR: copy.temporary, NODE_COMPILE_CACHE: join(root, ".cache/compiled") }
  const child = spawn(word, words, { cwd: copy.path, env, detached: true, stdio: ["ignore", "pipe", "ignore"] })
  const ended = new Promise<number | null>((done) => void child.on("exit", done))
  let failed: string | undefined
  let isLate = false
  const stop = () => Promise.all([stopGroup(child.pid), environment?.stop()])
  const deadline = setTimeout(() => {
    isLate = true
    void stop()
  }, ms)
  stops.add(stop)
  if (isOver) void stop()
  for await (const line of createInterface(child.stdout)) {
    failed = /^fail (.*)$/.exec(line)?.[1]
    if (failed !== undefined) break
  }
  clearTimeout(deadline)
  stops.delete(stop)
  if (failed !== undefined) await stop()
  const code = await ended
  await stop()
  copy.tidy()
  if (isLate) return { caught: true, by: `The tests did not end within ${ms / 1_000} s` }
  if (failed === undefined && code === 0) return { caught: false, by: `All of these passed: ${tests.join(", ")}` }
  return { caught: true, by: failed ?? `exit code ${code}` }
}

/** Ends the tests' processes and those that they started. */
function stopGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, "SIGKILL")
  } catch {
    // The group has ended by itself.
  }
}

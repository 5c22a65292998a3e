// Puts one small fault at a time into a copy of the tree and runs the tests that should notice.
// Usage: node script/mutants.ts [--part NAME]… [--fault WORDS]… [--docker | --no-docker] [REPORT]
// Without --part all parts of test/mutants/ are taken, with --fault only faults that these words describe. Faults that only tests with Docker notice come last, one at a time; --docker takes them alone, --no-docker leaves them out.
// One line for each fault on standard output; exit code 0 only when all were caught. The report gets a line `pass …` or `fail …` for each.

import { execFileSync, spawn, spawnSync } from "node:child_process"
import { appendFileSync, chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { parseArgs } from "node:util"
import { type Mutant, needsDocker, parts } from "../test/mutants/index.ts"

const root = resolve(import.meta.dirname, "..")
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    part: { type: "string", multiple: true },
    fault: { type: "string", multiple: true },
    docker: { type: "boolean" },
    "no-docker": { type: "boolean" },
  },
})
const report = positionals[0]
/** Copies at work at once: as many as there are processors here and on the machines that run the tests. */
const workers = 2
/** So long the tests of one fault may take before they count as hanging; of a fault that blocks a whole process no test's own bound tells. */
const deadlineMs = 5 * 60_000

interface Verdict {
  caught: boolean
  /** What caught it, or why nothing did. */
  by: string
}

const all = chosen()
const rounds = [
  { mutants: values.docker ? [] : all.filter((mutant) => !needsDocker(mutant)), workers },
  { mutants: values["no-docker"] ? [] : all.filter(needsDocker), workers: 1 },
]
for (const round of rounds) {
  if (round.mutants.length === 0) continue
  if (!(await isSound(round.mutants))) {
    process.exitCode = 1
    break
  }
  const queue = [...round.mutants.entries()]
  const verdicts = await Promise.all(Array.from({ length: round.workers }, () => work(queue, round.mutants.length)))
  if (!verdicts.flat().every((caught) => caught)) process.exitCode = 1
}

function chosen(): readonly Mutant[] {
  const wrong = values.part?.find((name) => parts[name] === undefined)
  if (wrong !== undefined) throw new TypeError(`--part must be one of ${Object.keys(parts).join(", ")}; got ${JSON.stringify(wrong)}`)
  const all = (values.part ?? Object.keys(parts)).flatMap((name) => parts[name] ?? [])
  return all.filter(({ fault }) => values.fault?.some((words) => fault.includes(words)) ?? true)
}

/** A test that fails without any fault would catch them all. */
async function isSound(mutants: readonly Mutant[]): Promise<boolean> {
  using copy = copyOfTree()
  const files = [...new Set(mutants.flatMap(({ tests }) => tests))]
  const verdict = await runTests(copy.path, files, files.length * deadlineMs)
  if (verdict.caught) process.stderr.write(`Without any fault this fails already: ${verdict.by}\n`)
  return !verdict.caught
}

async function work(queue: [number, Mutant][], total: number): Promise<boolean[]> {
  using copy = copyOfTree()
  const caught: boolean[] = []
  for (let next = queue.shift(); next; next = queue.shift()) {
    const [at, mutant] = next
    const verdict = await examine(copy.path, mutant)
    tell(`${at + 1}/${total} ${mutant.file}: ${mutant.fault}`, verdict)
    caught.push(verdict.caught)
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

/**
 * The first test that fails, in the order in which they end. Nothing else has to be known, so the others are stopped then, with what they
 * started; what they keep outside their process, containers for one, they remove themselves: where Docker is at work they go on to their end, or to the deadline.
 */
async function runTests(copy: string, tests: readonly string[], ms = deadlineMs): Promise<Verdict> {
  const options = ["--test", "--test-timeout=60000", "--test-force-exit", `--test-reporter=${join(root, "script/lib/outcomes.mjs")}`]
  const env = { ...process.env, TMPDIR: join(copy, "tmp") }
  const child = spawn(process.execPath, [...options, ...tests], { cwd: copy, env, detached: true, stdio: ["ignore", "pipe", "ignore"] })
  const ended = new Promise<number | null>((done) => void child.on("exit", done))
  const patient = tests.some((file) => file.includes(".docker."))
  let failed: string | undefined
  let isLate = false
  const deadline = setTimeout(() => {
    isLate = true
    stopGroup(child.pid)
  }, ms)
  for await (const line of createInterface(child.stdout)) {
    failed ??= /^fail (.*)$/.exec(line)?.[1]
    if (failed !== undefined && !patient) break
  }
  if (failed !== undefined && !patient) stopGroup(child.pid)
  const code = await ended
  clearTimeout(deadline)
  if (isLate && failed === undefined) return { caught: true, by: `The tests did not end within ${ms / 60_000} minutes` }
  if (failed === undefined && code === 0) return { caught: false, by: `All of these passed: ${tests.join(", ")}` }
  return { caught: true, by: failed ?? `exit code ${code}` }
}

function stopGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, "SIGKILL")
  } catch {
    // It has ended by itself.
  }
}

/** Tests that were stopped, or whose fault it is, leave things mounted: their folder could not be removed then. */
function unmountBelow(folder: string): void {
  const places = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => (line.split(" ")[4] ?? "").replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))))
    .filter((place) => place.startsWith(`${folder}/`))
  for (const place of places.reverse()) spawnSync("umount", ["--lazy", place])
}

/** What git knows, and what is new and not ignored, with the packages of the original. Its `tmp` is the tests' place for temporary files. */
function copyOfTree(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), "quayside-mutants-"))
  // Some tests start the program as another user.
  chmodSync(path, 0o755)
  const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], { cwd: root, encoding: "utf8" }).split("\0")
  for (const file of files.filter((name) => name !== "" && !name.startsWith("images/"))) {
    mkdirSync(dirname(join(path, file)), { recursive: true })
    cpSync(join(root, file), join(path, file), { force: true })
  }
  symlinkSync(join(root, "node_modules"), join(path, "node_modules"))
  mkdirSync(join(path, "tmp"))
  // The test of the layout asks git for the files.
  execFileSync("git", ["init", "--quiet", path])
  writeFileSync(join(path, ".git/info/exclude"), "/node_modules\n/tmp\n")
  return {
    path,
    [Symbol.dispose]() {
      unmountBelow(path)
      rmSync(path, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

import assert from "node:assert/strict"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

interface Checkout extends AsyncDisposable {
  readonly program: string
  readonly packages: string
}

/**
 * A checkout with the real bin/quayside.js and a command line that prints its arguments. `major` is
 * the Node version that it requires.
 */
async function checkout(options: { major?: number; packages?: string[] } = {}): Promise<Checkout> {
  const { major = 26, packages = ["kysely", "node"] } = options
  const directory = await mkdtemp(join(tmpdir(), "quayside-program-"))
  for (const folder of ["bin", "src/main", "node_modules"]) await mkdir(join(directory, folder), { recursive: true })
  const program = join(directory, "bin/quayside.js")
  await copyFile(join(root, "bin/quayside.js"), program)
  const text = await readFile(program, "utf8")
  await writeFile(program, text.replace("const wantedMajor = 26", `const wantedMajor = ${major}`))
  await writeFile(join(directory, "package.json"), '{"type":"module"}')
  await writeFile(
    join(directory, "src/main/cli.ts"),
    `const words: string[] = process.argv.slice(2)
if (words[0] === "wait") setInterval(() => {}, 1_000)
if (words[0] === "wait") process.on("SIGTERM", () => process.exit(5))
if (words[0] === "exit") process.exitCode = Number(words[1])
process.stdout.write("started " + JSON.stringify(words) + "\\n")
`,
  )
  for (const name of packages) await symlink(join(root, "node_modules", name), join(directory, "node_modules", name))
  return { program, packages: join(directory, "node_modules"), [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) }
}

function run(file: string, ...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(file, words, (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), stdout, stderr }))
  })
}

test("the program passes its arguments on and returns the exit code", async () => {
  await using there = await checkout()
  assert.deepEqual(await run(process.execPath, there.program, "exit", "3"), { code: 3, stdout: 'started ["exit","3"]\n', stderr: "" })
})

test("the program reports missing packages", async () => {
  await using there = await checkout({ packages: [] })
  const { code, stderr } = await run(process.execPath, there.program, "serve")
  assert.equal(code, 1)
  assert.match(stderr, /npm packages are missing.*npm ci/)
})

test("the program reports a package node without its executable", async () => {
  await using there = await checkout({ major: 99, packages: ["kysely"] })
  const { code, stderr } = await run(process.execPath, there.program, "serve")
  assert.equal(code, 1)
  assert.match(stderr, /needs Node 99.*npm rebuild node/)
})

test("the program does not restart itself in a loop when the package node is too old", async () => {
  await using there = await checkout({ major: 99 })
  const { code, stderr } = await run(process.execPath, there.program, "serve")
  assert.equal(code, 1)
  assert.match(stderr, /needs Node 99, and this is/)
})

test("an older Node forwards signals to the Node that it started, and returns its exit code", async (t) => {
  const older = await olderNode()
  if (older === undefined) return t.skip("every node on PATH is new enough to run Quayside itself")
  await using there = await checkout()
  const child = spawn(older, [there.program, "wait"], { stdio: ["ignore", "pipe", "inherit"] })
  await once(child.stdout, "data")
  child.kill("SIGTERM")
  const [code] = await once(child, "exit")
  assert.equal(code, 5)
})

async function olderNode(): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const version = await run(join(folder, "node"), "--version")
    if (/^v(18|2[0-5])\./.test(version.stdout)) return join(folder, "node")
  }
  return undefined
}

import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { test } from "node:test"
import { promisify } from "node:util"
import { Shell } from "./shell.ts"

test("a program receives its arguments unchanged", async () => {
  const words = ["a b", "it's", '$HOME `id` \\ "', "two\nlines", ""]
  assert.deepEqual(await new Shell().run(["printf", "[%s]", ...words]), { code: 0, output: words.map((word) => `[${word}]`).join("") })
})

test("a program receives its input, even if it looks like shell code", async () => {
  assert.deepEqual(await new Shell().run(["cat"], "one $HOME\n'EOF'\n"), { code: 0, output: "one $HOME\n'EOF'\n" })
})

test("without input a program reads nothing", async () => {
  assert.deepEqual(await new Shell().run(["cat"]), { code: 0, output: "" })
})

test("a result contains the exit code and the output, errors included", async () => {
  const shell = new Shell()
  assert.deepEqual(await shell.run(["sh", "-c", "echo out; echo err >&2; exit 3"]), { code: 3, output: "out\nerr\n" })
  assert.equal((await shell.run(["no-such-program"])).code, 127)
})

test("warnings are no part of the output of a program that succeeds", async () => {
  const shell = new Shell()
  const save = "printf 'a line'; echo warning >&2; sleep 0.1; printf ' of rules'"
  assert.deepEqual(await shell.run(["sh", "-c", save]), { code: 0, output: "a line of rules" })
  assert.deepEqual(await shell.run(["sh", "-c", `${save}; exit 1`]), { code: 1, output: "a line of ruleswarning\n" })
})

test("concurrent programs each return their own result", async () => {
  const shell = new Shell()
  const output = await Promise.all(Array.from({ length: 20 }, (_, n) => shell.run(["echo", String(n)])))
  assert.deepEqual(
    output.map((each) => each.output),
    Array.from({ length: 20 }, (_, n) => `${n}\n`),
  )
})

test("a killed shell rejects the waiting call, and the next calls get a new shell", async () => {
  const shell = new Shell()
  const ended = shell.run(["sh", "-c", "kill -9 $PPID"])
  const next = shell.run(["echo", "well"])
  await assert.rejects(ended, { code: "engine_error", message: /was ended/ })
  assert.equal((await next).output, "well\n")
})

test("a hung program is killed, its caller gets an error, and the next programs run", async () => {
  const shell = new Shell({ timeoutMs: 200 })
  const hung = shell.run(["sleep", "3600"])
  const next = shell.run(["echo", "well"])
  await assert.rejects(hung, { code: "engine_error", message: "A tool of the host did not end within 0.2 s" })
  assert.equal((await next).output, "well\n")
})

test("output of a process that outlives a killed shell is ignored", async () => {
  const shell = new Shell({ timeoutMs: 2_000 })
  const hung = shell.run(["sh", "-c", "setsid sh -c 'sleep 2.3; echo stray' & sleep 3600"])
  const next = shell.run(["sh", "-c", "sleep 0.8; echo well"])
  await assert.rejects(hung, { code: "engine_error" })
  assert.equal((await next).output, "well\n")
})

test("programs inherit nothing of this process's environment", async () => {
  process.env.SHELL_TEST_SECRET = "secret"
  assert.doesNotMatch((await new Shell().run(["env"])).output, /secret/i)
})

test("an idle shell does not keep the process alive, and ends with it", async () => {
  const script = `const { Shell } = await import(${JSON.stringify(new URL("./shell.ts", import.meta.url).href)})
    console.log((await new Shell().run(["sh", "-c", "echo $PPID"])).output)`
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], { timeout: 20_000 })
  const pid = Number(stdout)
  assert.ok(pid > 1)
  while ((await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "gone")).includes("(sh) S")) await new Promise(setImmediate)
})

import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { after, test } from "node:test"
import { fileURLToPath } from "node:url"
import xterm from "@xterm/headless"
import { basicAuth, createClient } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { startServerProcess } from "../server-process.ts"
import { openCommandLine } from "./program.ts"

const server = await startServerProcess()
after(() => server[Symbol.asyncDispose]())
const cli = await openCommandLine()
after(() => cli[Symbol.asyncDispose]())
const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
const { Token } = await admin.createToken({ body: { Name: "terminals" } })
const env = { QUAYSIDE_SERVER: server.baseUrl, QUAYSIDE_TOKEN: Token }
const { ID: ImageID } = await admin.createImage({ body: { Name: "Tools", Image: "quayside-test/ssh-tools", Port: "8000" } })
const { ID: ProjectID } = await admin.createProject({ body: { ProjectName: "Fit", Type: "http", ImageID } })
assert.equal((await admin.startRun({ body: { ProjectID } })).State, "ready")

const program = fileURLToPath(new URL("../../bin/quayside.js", import.meta.url))
const pseudoTerminal = fileURLToPath(new URL("../fixtures/terminal.py", import.meta.url))

/** `quayside shell` in a pseudo terminal, and the screen that a person sees. */
function openTerminal({ columns, rows }: { columns: number; rows: number }) {
  const home = { HOME: cli.directory, PATH: process.env.PATH, TERM: "xterm-256color", ...env }
  const words = [pseudoTerminal, String(columns), String(rows), process.execPath, program, "shell", "Fit"]
  const child = spawn("python3", words, { env: home, stdio: ["pipe", "pipe", "inherit"] })
  after(() => child.kill())
  const screen = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true })
  // Programs ask the terminal for its kind and its colours.
  screen.onData((answer) => type(answer))
  child.stdout.on("data", (data) => screen.write(data))
  const command = (value: object) => child.stdin.write(`${JSON.stringify(value)}\n`)
  const type = (text: string) => command({ type: text })
  const line = (row: number) =>
    screen.buffer.active
      .getLine(screen.buffer.active.viewportY + row)
      ?.translateToString(true)
      .trimEnd() ?? ""
  const lines = () => Array.from({ length: screen.rows }, (_, row) => line(row))
  return {
    type,
    lines,
    resize(newColumns: number, newRows: number) {
      screen.resize(newColumns, newRows)
      command({ resize: [newColumns, newRows] })
    },
    async shows(what: string, isShown: (lines: string[]) => boolean) {
      await eventually(`the screen shows ${what}`, () => isShown(lines())).catch((error) => {
        throw new Error(`${error.message}:\n${lines().join("\n")}`)
      })
    },
    ended: once(child, "exit").then(([code]) => code as number),
  }
}

const hasPrompt = (lines: string[]) => lines.some((line) => /[$#]$/.test(line))

async function runInRun(script: string): Promise<string> {
  const { code, stdout, stderr } = await cli.run(["exec", "Fit", "--", "sh", "-c", script], { env })
  assert.equal(code, 0, stderr)
  return stdout
}

async function leaves(terminal: ReturnType<typeof openTerminal>, name: string): Promise<void> {
  terminal.type("exit 5\r")
  assert.equal(await terminal.ended, 5)
  const processes = await runInRun("for p in /proc/[0-9]*; do cat $p/comm; done 2> /dev/null; true")
  assert.doesNotMatch(processes, new RegExp(`^(${name}|bash)$`, "m"))
}

test("vim in `quayside shell` edits a file with UTF-8, follows the terminal's size and saves", async () => {
  const terminal = openTerminal({ columns: 80, rows: 24 })
  await terminal.shows("a prompt", hasPrompt)
  terminal.type("export LANG=C.UTF-8 && cd /tmp && vim -u NONE -N note.txt\r")
  await terminal.shows("an empty file", (lines) => lines[1] === "~" && lines[22] === "~" && /"note\.txt" \[New\]/.test(lines[23] ?? ""))
  terminal.type("iGrüße, 世界 → 🚢\rsecond line")
  await terminal.shows("the text", (lines) => lines[0] === "Grüße, 世界 → 🚢" && lines[1] === "second line")
  terminal.resize(100, 40)
  await terminal.shows("more lines", (lines) => lines[38] === "~" && lines[0] === "Grüße, 世界 → 🚢")
  terminal.resize(60, 12)
  await terminal.shows("fewer lines", (lines) => lines[10] === "~" && lines[1] === "second line")
  terminal.type("\u001b:wq\r")
  await terminal.shows("the prompt again", hasPrompt)
  assert.equal(await runInRun("cat /tmp/note.txt"), "Grüße, 世界 → 🚢\nsecond line\n")
  await leaves(terminal, "vim")
})

test("htop in `quayside shell` draws the run's processes, follows the terminal's size and ends with q", async () => {
  const terminal = openTerminal({ columns: 100, rows: 30 })
  await terminal.shows("a prompt", hasPrompt)
  terminal.type("htop\r")
  const drawn = (row: number) => (lines: string[]) =>
    /F1.*Help.*F10.*Quit/.test(lines[row] ?? "") && lines.some((line) => line.includes("python3 -m http.server"))
  await terminal.shows("processes and keys in its last line", drawn(29))
  terminal.resize(120, 45)
  await terminal.shows("its keys in the new last line", drawn(44))
  terminal.resize(90, 20)
  await terminal.shows("its keys in the last line of a smaller terminal", drawn(19))
  terminal.type("q")
  await terminal.shows("the prompt again", hasPrompt)
  await leaves(terminal, "htop")
})

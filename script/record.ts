// Records a session of the command line with a real server and real containers, as an animated SVG.
// Usage: node script/record.ts FILE

import { spawn } from "node:child_process"
import { mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { basicAuth, createClient } from "#client"
import { startServerProcess } from "../test/server-process.ts"
import { Screen } from "./recording/screen.ts"
import { drawSvg } from "./recording/svg.ts"

const [target = ""] = process.argv.slice(2)
if (target === "") throw new Error("Usage: node script/record.ts FILE")
const root = join(import.meta.dirname, "..")

await using server = await startServerProcess({ QUAYSIDE_LOG_LEVEL: "error" })
const folder = join(server.directory, "work")
await mkdir(join(folder, "spectra"), { recursive: true })
for (const name of ["a", "b", "c"]) await writeFile(join(folder, "spectra", `${name}.csv`), "wave,value\n400,0.12\n500,0.48\n")
await mkdir(join(server.directory, "bin"))
await symlink(join(root, "bin/quayside.js"), join(server.directory, "bin/quayside"))
const client = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
const { Token } = await client.createToken({ body: { Name: "recording" } })
const environment = {
  HOME: server.directory,
  LANG: "C.UTF-8",
  PATH: [join(server.directory, "bin"), join(root, "node_modules/.bin"), process.env.PATH].join(":"),
  TERM: "xterm-256color",
  QUAYSIDE_SERVER: server.baseUrl,
  QUAYSIDE_TOKEN: Token,
}

const screen = new Screen()
for (const command of [
  "quayside data create spectra",
  "quayside data push spectra spectra",
  "quayside image create Lab quayside/jupyterlab:latest",
  "quayside project create fit --type jupyterlab --image Lab --data spectra:/data",
  "quayside start fit --wait --cpus 1 --memory 1GiB",
  "quayside exec fit -- head -n 2 /data/a.csv",
  "quayside stats fit",
  "quayside stop fit",
  "quayside start fit --wait --gpus 2",
]) {
  await screen.type(command)
  const code = await run(command)
  if (code !== 0 && !command.includes("--gpus")) throw new Error(`${command} ended with exit code ${code}`)
}
await screen.prompt()
await writeFile(target, drawSvg(screen.frames))

/** Runs a command on a terminal and shows its output as it comes. */
async function run(command: string): Promise<number> {
  const { columns, rows } = screen.size
  // script(1) is in Debian's base system and gives the command a terminal.
  const child = spawn("script", ["--quiet", "--return", "--command", `stty cols ${columns} rows ${rows}; ${command}`, "/dev/null"], {
    cwd: folder,
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  })
  for await (const chunk of child.stdout) await screen.show(chunk)
  return child.exitCode ?? new Promise((resolve) => child.once("exit", (code) => resolve(code ?? 1)))
}

import assert from "node:assert/strict"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { freePorts } from "../fixtures/free-ports.ts"

const root = resolve(import.meta.dirname, "../..")

/** A copy of the server, with the packages of this checkout and a cache of its own. */
async function copyOfServer(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), "quayside-compiled-"))
  for (const name of ["bin", "src", "package.json"]) await cp(join(root, name), join(path, name), { recursive: true })
  await mkdir(join(path, "node_modules"))
  const packages = (await readdir(join(root, "node_modules"))).filter((name) => name !== ".cache")
  await Promise.all(packages.map((name) => symlink(join(root, "node_modules", name), join(path, "node_modules", name))))
  // Printed when the process ends: whether Node has loaded what strips types.
  await writeFile(
    join(path, "hook.cjs"),
    'process.on("exit", () => console.log(process.moduleLoadList.some((name) => name.includes("amaro"))))',
  )
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}

async function stripsTypes(server: string): Promise<boolean> {
  const [port, appsPort, filesPort] = await freePorts(3)
  const data = await mkdtemp(join(tmpdir(), "quayside-data-"))
  const settings = {
    QUAYSIDE_PORT: String(port),
    QUAYSIDE_APPS_PORT: String(appsPort),
    QUAYSIDE_FILES_PORT: String(filesPort),
    QUAYSIDE_DATA_DIR: data,
    QUAYSIDE_ENGINE: "fake",
    QUAYSIDE_LOG_LEVEL: "error",
  }
  const env = { ...process.env, ...settings, NODE_COMPILE_CACHE: undefined }
  const child = spawn(process.execPath, ["--require", join(server, "hook.cjs"), join(server, "bin/quayside.js"), "serve"], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  })
  let printed = ""
  child.stdout.on("data", (chunk) => {
    printed += chunk
    if (printed.includes("Quayside is ready")) child.kill("SIGTERM")
  })
  await once(child, "close")
  await rm(data, { recursive: true })
  const [, answer] = /^(true|false)$/m.exec(printed) ?? []
  assert.ok(answer, printed)
  return answer === "true"
}

test("after `bin/compile.js` the first start of a server strips no types", async () => {
  await using server = await copyOfServer()
  await promisify(execFile)(process.execPath, [join(server.path, "bin/compile.js")], {
    env: { ...process.env, NODE_COMPILE_CACHE: undefined },
  })
  assert.equal(await stripsTypes(server.path), false)
  await rm(join(server.path, "node_modules/.cache"), { recursive: true })
  assert.equal(await stripsTypes(server.path), true)
})

#!/usr/bin/env node
// Starts Quayside from a checkout with any Node that can read this file: the one it needs comes
// with the npm packages.

import { spawn } from "node:child_process"
import { existsSync, realpathSync } from "node:fs"
import * as module from "node:module"
import { constants } from "node:os"
import { fileURLToPath } from "node:url"

const wantedMajor = 26
const packages = fileURLToPath(new URL("../node_modules", import.meta.url))
const bundledNode = `${packages}/node/bin/node`

if (!existsSync(`${packages}/kysely`)) {
  fail("The npm packages are missing. Run `npm ci` in the checkout (or script/start, which does it).")
} else if (Number.parseInt(process.versions.node, 10) >= wantedMajor) {
  module.enableCompileCache(`${packages}/.cache/quayside`)
  await import("../src/main/cli.ts")
} else if (existsSync(bundledNode) && realpathSync(process.execPath) !== realpathSync(bundledNode)) {
  becomeBundledNode()
} else {
  fail(
    `Quayside needs Node ${wantedMajor}, and this is ${process.versions.node}. The npm package \`node\` brings it, but it is old or its ` +
      "install script did not run (ignore-scripts?). Run `npm ci`, or `npm rebuild node --ignore-scripts=false`.",
  )
}

function becomeBundledNode() {
  const args = [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  if (process.execve) process.execve(bundledNode, [bundledNode, ...args], process.env)
  const child = spawn(bundledNode, args, { stdio: "inherit" })
  // The handlers keep this process alive until the child has ended. A terminal sends its own
  // signals to both: one is enough.
  const fromTerminal = process.stdin.isTTY ? ["SIGINT", "SIGQUIT", "SIGHUP"] : []
  for (const signal of ["SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM", "SIGUSR2"]) {
    process.on(signal, () => fromTerminal.includes(signal) || child.kill(signal))
  }
  child.on("error", (error) => fail(`Node could not be started from ${bundledNode}: ${error.message}`))
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}

function fail(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}

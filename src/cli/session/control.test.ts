import assert from "node:assert/strict"
import { PassThrough, Readable } from "node:stream"
import { test } from "node:test"
import type { Multiplexer } from "#channel"
import { Failure, type RunningProject } from "#contract"
import { Cli } from "../io/cli.ts"
import { CliError } from "../io/failures.ts"
import { needsMask, readUpgradeFailure, reconnect } from "./control.ts"

test("an endless answer to a control connection is not read", async () => {
  let sent = 0
  function* endless() {
    for (; sent < 10_000; sent += 1) yield Buffer.alloc(1_024)
  }
  await assert.rejects(readUpgradeFailure(Object.assign(Readable.from(endless()), { statusCode: 200 })), CliError)
  assert.ok(sent < 200, `${sent} KiB were read`)
})

function aCommandLine(signal = new AbortController().signal): Cli {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
  return new Cli({ ...streams, env: {}, platform: "linux", version: "0", program: [], signal }, {})
}

/** A run whose connections are refused with these statuses, one after the other, then open. */
function refusing(...statuses: number[]) {
  const state = { opened: 0, connection: {} as Multiplexer }
  const open = async () => {
    const status = statuses[state.opened++]
    if (status !== undefined) throw new Failure("unavailable", "refused", { status })
    return state.connection
  }
  return { state, run: { run: {} as RunningProject, open } }
}

test("a lost connection is opened again after errors that pass, and not after a refusal that stays", async () => {
  const passing = refusing(429, 503)
  const stays = [401, 403, 404, 409].map(async (status) => {
    const { run, state } = refusing(status)
    await assert.rejects(reconnect(aCommandLine(), run), { status })
    assert.equal(state.opened, 1)
  })
  assert.equal(await reconnect(aCommandLine(), passing.run), passing.state.connection)
  assert.equal(passing.state.opened, 3)
  await Promise.all(stays)
})

test("Ctrl-C ends the wait for a connection", async () => {
  const controller = new AbortController()
  const { run, state } = refusing(...Array(100).fill(503))
  const waiting = reconnect(aCommandLine(controller.signal), run)
  controller.abort()
  await assert.rejects(waiting, { name: "AbortError" })
  assert.equal(state.opened, 0)
})

test("frames are masked where a proxy could take them for requests", () => {
  for (const address of ["ws://quayside.example/x", "ws://10.0.0.1:8080/", "ws://localhost.example/", "ws://127.example/"])
    assert.ok(needsMask(address), address)
  for (const address of ["wss://quayside.example/x", "ws://localhost:8080/", "ws://127.0.0.1/", "ws://[::1]:8080/"])
    assert.ok(!needsMask(address), address)
})

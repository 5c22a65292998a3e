import assert from "node:assert/strict"
import { test } from "node:test"
import { Multiplexer } from "#channel"
import type { ExecProcess } from "#engine"
import { ShellSessions } from "./shell-sessions.ts"

const owner = { userId: 1, runId: 1, runKey: "key", credentialId: "token" }

/** A shell that prints nothing, and whose end takes until `ended` resolves. */
function aShell() {
  const closing = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  async function* output() {
    await ended.promise
    yield* []
  }
  const process: ExecProcess = {
    output: output(),
    exitCode: ended.promise.then(() => 0),
    write: async () => {},
    endInput: () => {},
    resize: async () => {},
    kill: async () => {},
    close: () => {
      closing.resolve()
      return ended.promise
    },
  }
  return { process, closing: closing.promise, end: () => ended.resolve() }
}

function aStream() {
  const transport = { send: () => {}, isCongested: false, close: () => {} }
  return new Multiplexer({ transport, side: "server" }).open("shell")
}

test("nobody attaches to a shell that its client has ended, or that is ending", async () => {
  const sessions = new ShellSessions()
  const cancelled = aShell()
  const over = Promise.withResolvers<void>()
  const session = sessions.add(cancelled.process, owner, over.resolve)
  const stream = aStream()
  session.attach(stream)
  assert.equal(sessions.find(session.id, owner), session)
  stream.receiveClose({ code: "cancelled", msg: "Cancelled by the client" })
  // Nothing has been told to end yet.
  assert.equal(sessions.find(session.id, owner), undefined)
  await cancelled.closing
  assert.equal(sessions.find(session.id, owner), undefined)
  cancelled.end()
  await over.promise

  const revoked = aShell()
  const other = sessions.add(revoked.process, owner, () => {})
  const right = new AbortController()
  other.bindToRight(() => right.signal, "token")
  right.abort()
  await revoked.closing
  assert.equal(sessions.find(other.id, owner), undefined)
  revoked.end()
})

test("a shell whose connection was lost is found again", () => {
  const sessions = new ShellSessions()
  const shell = aShell()
  const session = sessions.add(shell.process, owner, () => {})
  const stream = aStream()
  session.attach(stream)
  stream.receiveClose({ code: "connection_lost", msg: "" })
  assert.equal(sessions.find(session.id, owner), session)
  shell.end()
})

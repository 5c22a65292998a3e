import assert from "node:assert/strict"
import { test } from "node:test"
import { silentLogger, systemClock } from "#kit"
import { currentReader, readAsPerson } from "#store"
import { abortOnRevocation } from "./abort-on-revocation.ts"

test("a right is checked again past all that its person reads, so that nobody delays the end of their own rights", async () => {
  const readers: unknown[] = []
  const checked = Promise.withResolvers<void>()
  const resource = async () => {
    readers.push(currentReader())
    checked.resolve()
    return undefined
  }
  const identity = { refreshCaller: async () => void readers.push(currentReader()) }
  const clock = { ...systemClock, sleep: async () => {} }
  const context = { store: {}, identity, clock, logger: silentLogger } as unknown as Parameters<typeof abortOnRevocation>[0]
  const caller = { userId: 7, credential: { id: "token:1" } }
  const signal = readAsPerson(7, () =>
    abortOnRevocation(context, { caller, signal: new AbortController().signal }, { action: "run:logs", resource }),
  )
  await checked.promise
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(signal.aborted, true)
  assert.deepEqual(readers, [undefined, undefined])
})

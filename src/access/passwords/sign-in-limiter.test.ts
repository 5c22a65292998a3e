import assert from "node:assert/strict"
import { test } from "node:test"
import { bounds } from "#contract"
import { SignInLimiter } from "./sign-in-limiter.ts"

test("addresses that sent wrong passwords leave a name's places to those that sent none", () => {
  const limiter = new SignInLimiter()
  const acquire = (n: number, more: { isKnown?: boolean; isSuspect?: boolean } = {}) =>
    limiter.acquire({ name: "ann", address: `192.0.2.${n}`, isKnown: false, isSuspect: false, ...more })
  for (let n = 0; n < bounds.accounts.signInsPerName.value; n += 1) acquire(n, { isSuspect: true })
  assert.throws(() => acquire(100, { isSuspect: true }), { code: "too_many_requests" })
  acquire(101)[Symbol.dispose]()
  acquire(102, { isKnown: true, isSuspect: true })[Symbol.dispose]()
  for (let n = 0; n < bounds.accounts.signInsPerName.value; n += 1) acquire(n)
  assert.throws(() => acquire(103), { code: "too_many_requests" })
  acquire(104, { isKnown: true })[Symbol.dispose]()
})

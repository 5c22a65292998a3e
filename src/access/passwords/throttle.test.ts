import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { bounds } from "#contract"
import { ManualClock } from "#kit"
import { AuthenticationFailure } from "../caller.ts"
import { PasswordThrottle } from "./throttle.ts"

const minute = 60_000

function refused(throttle: PasswordThrottle, name: string, address: string): AuthenticationFailure | undefined {
  try {
    throttle.startAttempt(name, address).assertAllowed()
    return undefined
  } catch (error) {
    assert.ok(error instanceof AuthenticationFailure)
    return error
  }
}

function fail(throttle: PasswordThrottle, name: string, address: string, times: number): void {
  for (let i = 0; i < times; i += 1) throttle.startAttempt(name, address).recordFailure()
}

describe("the throttle", () => {
  it("rejects a name from an address after ten wrong passwords within a minute, with the time to retry", async () => {
    const clock = new ManualClock()
    const throttle = new PasswordThrottle(clock)
    fail(throttle, "ann", "10.0.0.1", 1)
    await clock.advance(20_000)
    fail(throttle, "ann", "10.0.0.1", 8)
    assert.equal(refused(throttle, "ann", "10.0.0.1"), undefined)
    fail(throttle, "ann", "10.0.0.1", 1)
    const refusal = refused(throttle, "ann", "10.0.0.1")
    assert.equal(refusal?.status, 429)
    assert.equal(refusal?.code, "too_many_requests")
    assert.equal(refusal?.retryAfterSeconds, 40)
    assert.equal(refusal?.headers["Retry-After"], "40")
    await clock.advance(39_999)
    assert.equal(refused(throttle, "ann", "10.0.0.1")?.retryAfterSeconds, 1)
    await clock.advance(1)
    assert.equal(refused(throttle, "ann", "10.0.0.1"), undefined)
  })

  it("accepts the same name from another address, and another name from the same address", () => {
    const throttle = new PasswordThrottle(new ManualClock())
    fail(throttle, "ann", "10.0.0.1", 10)
    assert.equal(refused(throttle, "ann", "10.0.0.2"), undefined)
    assert.equal(refused(throttle, "bob", "10.0.0.1"), undefined)
  })

  it("knows the latest devices of a name, however many addresses another name signs in from", () => {
    const throttle = new PasswordThrottle(new ManualClock())
    const { knownDevices, countedNames } = bounds.accounts
    const isKnown = (name: string, address: string) => throttle.startAttempt(name, address).isKnown
    throttle.startAttempt("ann", "10.0.0.1").recordSuccess()
    for (let i = 0; i < 2 * countedNames.value + 1; i += 1) throttle.startAttempt("eve", `10.1.${i >> 8}.${i & 255}`).recordSuccess()
    assert.ok(isKnown("ann", "10.0.0.1"))
    for (let i = 0; i < knownDevices.value; i += 1) throttle.startAttempt("ann", `10.2.0.${i}`).recordSuccess()
    assert.ok(isKnown("ann", "10.2.0.0"))
    assert.ok(!isKnown("ann", "10.0.0.1"))
    throttle.startAttempt("ann", "10.2.0.0").recordSuccess()
    throttle.startAttempt("ann", "10.3.0.0").recordSuccess()
    assert.ok(isKnown("ann", "10.2.0.0"))
    assert.ok(!isKnown("ann", "10.2.0.1"))
  })

  it("rejects an address after sixty wrong passwords within a minute for any names", async () => {
    const clock = new ManualClock()
    const throttle = new PasswordThrottle(clock)
    for (let i = 0; i < 59; i += 1) fail(throttle, `user${i}`, "10.0.0.1", 1)
    assert.equal(refused(throttle, "ann", "10.0.0.1"), undefined)
    fail(throttle, "user60", "10.0.0.1", 1)
    assert.equal(refused(throttle, "ann", "10.0.0.1")?.status, 429)
    await clock.advance(minute)
    assert.equal(refused(throttle, "ann", "10.0.0.1"), undefined)
  })

  it("resets the failures of a pair at the right password, but not those of the address", () => {
    const throttle = new PasswordThrottle(new ManualClock())
    fail(throttle, "ann", "10.0.0.1", 9)
    throttle.startAttempt("ann", "10.0.0.1").recordSuccess()
    fail(throttle, "ann", "10.0.0.1", 9)
    assert.equal(refused(throttle, "ann", "10.0.0.1"), undefined)
    for (let i = 0; i < 42; i += 1) fail(throttle, `user${i}`, "10.0.0.1", 1)
    assert.equal(refused(throttle, "ann", "10.0.0.1")?.status, 429)
  })

  it("lets a known device try once a minute, however many passwords others at its address get wrong", async () => {
    const clock = new ManualClock()
    const throttle = new PasswordThrottle(clock)
    throttle.startAttempt("ann", "10.0.0.1").recordSuccess()
    for (let i = 0; i < 60; i += 1) fail(throttle, `user${i}`, "10.0.0.1", 1)
    assert.equal(refused(throttle, "bob", "10.0.0.1")?.status, 429)
    assert.equal(refused(throttle, "ann", "10.0.0.1"), undefined)
    assert.deepEqual([throttle.isBlocked("ann", "10.0.0.1"), throttle.isBlocked("bob", "10.0.0.1")], [false, true])
    fail(throttle, "ann", "10.0.0.1", 1)
    assert.equal(refused(throttle, "ann", "10.0.0.1")?.status, 429)
    assert.equal(throttle.isBlocked("ann", "10.0.0.1"), true)
    await clock.advance(30_000)
    for (let i = 0; i < 60; i += 1) fail(throttle, `user${i}`, "10.0.0.1", 1)
    await clock.advance(30_000)
    assert.equal(refused(throttle, "ann", "10.0.0.1"), undefined)
    assert.equal(refused(throttle, "bob", "10.0.0.1")?.status, 429)
  })

  it("slows a name that fails from many addresses by at most two seconds, and recovers within two hours", async () => {
    const clock = new ManualClock()
    const throttle = new PasswordThrottle(clock)
    const delay = () => throttle.startAttempt("ann", "10.9.9.9").delayMs
    for (let i = 0; i < 10; i += 1) fail(throttle, "ann", `10.0.1.${i}`, 1)
    assert.equal(delay(), 0)
    for (let i = 0; i < 5; i += 1) fail(throttle, "ann", `10.0.2.${i}`, 1)
    assert.equal(delay(), 500)
    for (let i = 0; i < 200; i += 1) fail(throttle, "ann", `10.0.3.${i}`, 1)
    assert.equal(delay(), 2_000)
    assert.equal(throttle.startAttempt("bob", "10.9.9.9").delayMs, 0)
    await clock.advance(2 * 60 * minute)
    assert.equal(delay(), 0)
  })

  it("counts the overlapping part of the previous hour", async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1))
    const throttle = new PasswordThrottle(clock)
    for (let i = 0; i < 24; i += 1) fail(throttle, "ann", `10.0.1.${i}`, 1)
    const delays = [throttle.startAttempt("ann", "10.9.9.9").delayMs]
    for (let i = 0; i < 4; i += 1) {
      await clock.advance(30 * minute)
      delays.push(throttle.startAttempt("ann", "10.9.9.9").delayMs)
    }
    assert.deepEqual(delays, [1_400, 1_400, 1_400, 200, 0])
  })

  it("counts all invalid names as one, which bounds the memory", () => {
    const throttle = new PasswordThrottle(new ManualClock())
    for (let i = 0; i < 10; i += 1) fail(throttle, `Not A Name ${i}`, "10.0.0.1", 1)
    assert.equal(refused(throttle, "Still Not", "10.0.0.1")?.status, 429)
  })

  it("is not confused by a clock that is set back", () => {
    let now = 10 * minute
    const throttle = new PasswordThrottle({ now: () => now, monotonic: () => now, sleep: () => Promise.resolve() })
    fail(throttle, "ann", "10.0.0.1", 10)
    now = minute
    assert.equal(refused(throttle, "ann", "10.0.0.1"), undefined)
  })
})

import assert from "node:assert/strict"
import type { IdentityFixture } from "../../../test/fixtures/identity.ts"
import { AuthenticationFailure, type Caller } from "../caller.ts"

export const clientAddress = "127.0.0.1"
export const secondMs = 1_000
export const minuteMs = 60 * secondMs

export function expectCaller(answer: Caller | AuthenticationFailure | undefined): Caller {
  if (answer === undefined || answer instanceof AuthenticationFailure) assert.fail(`a caller was expected; got ${answer?.message}`)
  return answer
}

export function expectFailure(answer: Caller | AuthenticationFailure | undefined): AuthenticationFailure {
  assert.ok(answer instanceof AuthenticationFailure, "a failure was expected")
  return answer
}

export async function tokenOf(fixture: IdentityFixture, who: Caller, expected: { expiresAt?: number; scopes?: string[] } = {}) {
  const { scopes, expiresAt = null } = expected
  return fixture.store.change((tx) => fixture.identity.tokens.create(tx, who, { name: "t", expiresAt, ...(scopes ? { scopes } : {}) }))
}

export async function signIn(fixture: IdentityFixture, name: string, password: string, previous?: string) {
  const who = expectCaller(await fixture.identity.checkPassword(name, password, clientAddress))
  return fixture.store.change((tx) => fixture.identity.sessions.create(tx, who, { address: clientAddress, browser: "Test" }, previous))
}

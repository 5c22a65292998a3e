import assert from "node:assert/strict"
import type { IdentityFixture } from "../../../test/fixtures/identity.ts"
import { type Caller, Refusal } from "../caller.ts"

export const home = "127.0.0.1"
export const second = 1_000
export const minute = 60 * second

export function caller(answer: Caller | Refusal | undefined): Caller {
  if (answer === undefined || answer instanceof Refusal) assert.fail(`a caller is wanted, got ${answer?.message}`)
  return answer
}

export function refusal(answer: Caller | Refusal | undefined): Refusal {
  assert.ok(answer instanceof Refusal, "a refusal is wanted")
  return answer
}

export async function tokenOf(world: IdentityFixture, who: Caller, wanted: { expiresAt?: number; scopes?: string[] } = {}) {
  const { scopes, expiresAt = null } = wanted
  return world.store.change((tx) => world.identity.tokens.create(tx, who, { name: "t", expiresAt, ...(scopes ? { scopes } : {}) }))
}

export async function signIn(world: IdentityFixture, name: string, password: string, previous?: string) {
  const who = caller(await world.identity.checkPassword(name, password, home))
  return world.store.change((tx) => world.identity.sessions.create(tx, who, previous))
}

import assert from "node:assert/strict"
import { test } from "node:test"
import { createIdentityFixture } from "../../../test/fixtures/identity.ts"
import { currentReader, readAsAddress, readAsPerson } from "./reading-person.ts"

test("the effects of changes read as nobody, although a person's request began to write them", async () => {
  await using fixture = await createIdentityFixture()
  const readers: unknown[] = []
  const change = () => fixture.store.change(async (tx) => tx.afterCommit(() => readers.push(currentReader())))
  for (const begin of [() => readAsPerson(7, change), () => readAsAddress("10.0.0.1", change)]) {
    // The changes before are over.
    await new Promise((resolve) => setTimeout(resolve, 10))
    await Promise.all([begin(), change()])
  }
  assert.deepEqual(readers, [undefined, undefined, undefined, undefined])
})

import assert from "node:assert/strict"
import { test } from "node:test"
import { TurnShares } from "./turn-shares.ts"

/** Keeps the processor busy, as queries and JSON do. */
function work(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

test("other work proceeds between one person's many short pieces, and another person's piece is among the first", async () => {
  const shares = new TurnShares()
  const order: string[] = []
  const piece = (name: string) => () => {
    work(2)
    order.push(name)
  }
  const ann = Array.from({ length: 40 }, () => shares.run(1, piece("ann")))
  setImmediate(() => order.push("other work"))
  const bob = shares.run(2, piece("bob"))
  await Promise.all([...ann, bob])
  assert.equal(order.length, 42)
  for (const name of ["other work", "bob"]) assert.ok(order.indexOf(name) < 10, order.join(" "))
})

test("a piece that fails ends as it does elsewhere, and the next one runs", async () => {
  const shares = new TurnShares()
  await assert.rejects(
    shares.run(1, () => {
      work(6)
      throw new Error("no")
    }),
    /no/,
  )
  assert.equal(await shares.run(1, async () => "done"), "done")
})

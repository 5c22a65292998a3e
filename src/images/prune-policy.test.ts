import assert from "node:assert/strict"
import { test } from "node:test"
import { decidePruning, type PruneFacts, type PruneRules } from "./prune-policy.ts"

const day = 86_400_000
const now = 1_000 * day
const name = (digest: string) => `docker.io/lab/${digest}:1`

/** Images of ten bytes by digest, each with the days since its last use. */
function facts(idleDays: Record<string, number>, more: Partial<PruneFacts> = {}): PruneFacts {
  const digests = Object.keys(idleDays)
  return {
    stored: digests.map((digest) => ({ digest, references: [name(digest)], size: 10 })),
    fetched: new Map(
      digests.map((digest) => [
        digest,
        { references: [name(digest)], fetchedAt: 0, usedAt: now - (idleDays[digest] ?? 0) * day, fetchedFor: "" },
      ]),
    ),
    kept: new Set(),
    inUse: new Set(),
    now,
    ...more,
  }
}

const pruned = (given: PruneFacts, rules: Partial<PruneRules>) =>
  decidePruning(given, { days: 0, maxBytes: 0, ...rules }).flatMap(({ image, prune }) => (prune ? image.digest : []))

test("without rules nothing is pruned", () => {
  assert.deepEqual(pruned(facts({ a: 900 }), {}), [])
})

test("images unused for more than the days are pruned", () => {
  assert.deepEqual(pruned(facts({ a: 31, b: 30, c: 0, d: 500 }), { days: 30 }), ["a", "d"])
})

test("the longest unused images are pruned until the rest fits, but none used within a day", () => {
  const given = facts({ a: 3, b: 9, c: 5, d: 0.5 })
  assert.deepEqual(pruned(given, { maxBytes: 40 }), [])
  assert.deepEqual(pruned(given, { maxBytes: 25 }), ["b", "c"])
  assert.deepEqual(pruned(given, { maxBytes: 1 }), ["a", "b", "c"])
  assert.deepEqual(pruned(given, { days: 8, maxBytes: 30 }), ["b"], "what goes by age makes room")
})

test("only images that Quayside fetched are ever pruned, and only they count for the size", () => {
  const given = facts({ mine: 900, theirs: 900 })
  const fetched = new Map([...given.fetched].filter(([digest]) => digest === "mine"))
  assert.deepEqual(pruned({ ...given, fetched }, { days: 1, maxBytes: 1 }), ["mine"])
  assert.deepEqual(pruned({ ...given, fetched }, { maxBytes: 10 }), [])
  assert.deepEqual(pruned({ ...given, fetched: new Map() }, { days: 1, maxBytes: 1 }), [])
  const [, theirs] = decidePruning({ ...given, fetched }, { days: 1, maxBytes: 1 })
  assert.equal(theirs?.why, "Quayside did not fetch it")
})

test("an image with a name that somebody else gave it stays", () => {
  const given = facts({ a: 900 })
  const stored = [{ digest: "a", references: [name("a"), "docker.io/library/mine:latest"], size: 10 }]
  assert.deepEqual(pruned({ ...given, stored }, { days: 1, maxBytes: 1 }), [])
})

test("kept images and those of live runs stay, by name and by digest", () => {
  const given = facts({ a: 900, b: 900, c: 900, d: 900, e: 0.5 })
  const needs = { kept: new Set([name("a")]), inUse: new Set([name("b"), "c"]) }
  const decisions = decidePruning({ ...given, ...needs }, { days: 1, maxBytes: 1 })
  assert.deepEqual(
    decisions.map(({ prune, why }) => [prune, why]),
    [
      [false, "Administrators keep it present"],
      [false, "A run uses it or waits for it"],
      [false, "A run uses it or waits for it"],
      [true, "Nobody has used it for 900 days"],
      [false, "It was used within the last day"],
    ],
  )
})

test("an image from which a kept name moved away is pruned, and one kept by digest is not", () => {
  const exact = "docker.io/lab/b@sha256:00"
  const given = facts({ a: 900, b: 900 })
  const fetched = new Map(given.fetched).set("b", { references: [exact], fetchedAt: 0, usedAt: 0, fetchedFor: "" })
  const stored = given.stored.map((image) => ({ ...image, references: [] }))
  assert.deepEqual(pruned({ ...given, stored, fetched, kept: new Set([name("a"), exact]) }, { days: 1 }), ["a"])
})

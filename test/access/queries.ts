import { StatementSync } from "node:sqlite"
import pg from "pg"

type Run = (...args: unknown[]) => unknown
type Prototype = Record<string, Run>

/**
 * The statements that the store of this process runs while `work` does: what they are, in their order. What runs by itself in between (a clock's work) would stand
 * there too, so the shortest of several attempts is answered.
 */
export async function queriesOf(work: () => Promise<unknown>, attempts = 4): Promise<string[]> {
  let shortest: string[] | undefined
  for (let i = 0; i < attempts; i += 1) {
    const seen = await recorded(work)
    if (shortest === undefined || seen.length < shortest.length) shortest = seen
  }
  return shortest ?? []
}

/** Where statements of either database pass, and how each tells what it is. */
const passages: readonly { prototype: Prototype; names: readonly string[]; sqlOf: (self: unknown, first: unknown) => string }[] = [
  {
    prototype: StatementSync.prototype as unknown as Prototype,
    names: ["all", "get", "run"],
    sqlOf: (self) => (self as StatementSync).sourceSQL,
  },
  {
    prototype: pg.Client.prototype as unknown as Prototype,
    names: ["query"],
    sqlOf: (_self, first) => (typeof first === "string" ? first : String((first as { text?: string }).text)),
  },
]

async function recorded(work: () => Promise<unknown>): Promise<string[]> {
  const seen: string[] = []
  const undo: (() => unknown)[] = []
  for (const { prototype, names, sqlOf } of passages) {
    for (const name of names) {
      const before = prototype[name] as Run
      undo.push(() => Object.assign(prototype, { [name]: before }))
      prototype[name] = function (this: unknown, ...args: unknown[]) {
        seen.push(sqlOf(this, args[0]))
        return before.apply(this, args)
      }
    }
  }
  try {
    await work()
  } finally {
    for (const back of undo) back()
  }
  return seen
}

import { describe, it } from "node:test"
import { ManualClock } from "#kit"
import type { Store } from "../../store.ts"
import type { MakeDatabase, TestOptions } from "../databases.ts"

export interface TestContext {
  make: MakeDatabase
  /** Opens the case's own database, which is empty at first. Its clock is manual. */
  open(options?: TestOptions): Promise<Store>
  clock: ManualClock
}

/** A test that passes with every database. */
export type Case = (context: TestContext) => Promise<void>

/** Runs the cases on databases of one kind. */
export function runCases(title: string, cases: Record<string, Case>, make: MakeDatabase): void {
  describe(title, () => {
    for (const [name, run] of Object.entries(cases)) {
      it(name, async () => {
        await using database = await make()
        const clock = new ManualClock()
        await run({ make, clock, open: (options) => database.open({ clock, ...options }) })
      })
    }
  })
}

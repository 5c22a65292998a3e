import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Clock, type Logger, silentLogger, systemClock } from "#kit"
import { openStore } from "../open.ts"
import type { Store } from "../store.ts"

export interface TestOptions {
  clock?: Clock
  logger?: Logger
  changeTimeoutMs?: number
}

/** An empty database of its own, which can be opened several times. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string
  open(options?: TestOptions): Promise<Store>
}

/** Makes a database for one test. */
export type MakeDatabase = () => Promise<TestDatabase>

export const sqliteDatabase: MakeDatabase = async () => {
  const directory = await mkdtemp(join(tmpdir(), "quayside-store-"))
  return testDatabase(`sqlite:${join(directory, "quayside.db")}`, () => rm(directory, { recursive: true }))
}

export function testDatabase(url: string, remove: () => Promise<void>): TestDatabase {
  return {
    url,
    open: (options = {}) => openStore({ url, logger: silentLogger, clock: systemClock, ...options }),
    [Symbol.asyncDispose]: remove,
  }
}

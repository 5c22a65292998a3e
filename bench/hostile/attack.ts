import type { ServerProcess } from "../../test/server-process.ts"

/** One attack: `begin` resolves when it is under way, and what it gives ends it. */
export interface Attack {
  /** The attack in a few words. */
  readonly name: string
  begin(server: ServerProcess): Promise<Disposable>
}

import type { Multiplexer, StreamError } from "#channel"
import type { Cli } from "../io/cli.ts"
import { type ControlledRun, reconnect, withConnection } from "../session/control.ts"

/** Losses of the connection in a row, between which the copy came no further. */
const maxIdleLosses = 10

export function isConnectionLost(error: unknown): boolean {
  return (error as StreamError).code === "connection_lost"
}

/** Does the rest of a copy. `onProgress` is called with the place that it reached. */
export type ContinueCopy<T> = (connection: Multiplexer, onProgress: (reached: number) => void) => Promise<T>

/** Continues a copy after each loss of the connection, for as long as it comes further. */
export async function resumeAfterLosses<T>(cli: Cli, run: ControlledRun, continueCopy: ContinueCopy<T>): Promise<T> {
  let furthest = 0
  let idleLosses = 0
  const onProgress = (reached: number) => {
    if (reached > furthest) [furthest, idleLosses] = [reached, 0]
  }
  for (;;) {
    cli.note("The connection was lost; connecting again …")
    try {
      return await withConnection(cli, reconnect(cli, run), (connection) => continueCopy(connection, onProgress))
    } catch (error) {
      idleLosses += 1
      if (!isConnectionLost(error) || idleLosses >= maxIdleLosses) throw error
    }
  }
}

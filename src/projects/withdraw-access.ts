import type { Logger } from "#kit"
import type { Runs } from "#runs"
import type { Reads } from "#store"

interface WithdrawalContext {
  store: Pick<Reads, "runs">
  runs: Pick<Runs, "stop">
  logger: Logger
}

/**
 * Stops all runs of a person who was disabled or deleted. Resolves when they have ended, or when a
 * failed stop has been logged and continues in the background.
 */
export async function stopRunsOfUser({ store, runs, logger }: WithdrawalContext, userId: number): Promise<void> {
  const own = (await store.runs.live()).filter((run) => run.userId === userId)
  await Promise.all(
    own.map((run) =>
      runs
        .stop(run.id, { by: "access_withdrawn" })
        .catch((err) => logger.warn({ err, run: run.id }, "a run of a disabled or deleted person is still stopping")),
    ),
  )
}

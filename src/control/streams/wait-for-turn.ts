import { sharedTurnBudget } from "#http"

/**
 * Counts data that a program sends. Resolves when the next may be read: hundreds of programs of one
 * person, each as fast as it can, must not delay everybody's requests.
 */
export async function waitForTurn(userId: number, data: { readonly length: number }, source: object): Promise<void> {
  if (sharedTurnBudget.spend(userId, data.length, source)) return
  await new Promise<void>((resolve) => sharedTurnBudget.resumeLater(userId, resolve))
}

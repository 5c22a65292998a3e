import { toDateInput } from "../../api/formats.ts"

export const expiryChoices = ["7", "30", "90", "365", "date", "never"] as const
export type ExpiryChoice = (typeof expiryChoices)[number]

const dayMs = 86_400_000

/** When a new token expires; null: never. A date of a field ends at the end of that local day. */
export function expiryOf(choice: ExpiryChoice, date: string, now: Date): string | null {
  if (choice === "never") return null
  if (choice !== "date") return new Date(now.getTime() + Number(choice) * dayMs).toISOString()
  return new Date(`${date}T23:59:59`).toISOString()
}

/** The first day on which a new token can expire: the next one. */
export function firstExpiryDay(now: Date): string {
  return toDateInput(new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1))
}

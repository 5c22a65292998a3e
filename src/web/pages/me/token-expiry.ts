export const expiryChoices = ["7", "30", "90", "365", "date", "never"] as const
export type ExpiryChoice = (typeof expiryChoices)[number]

const dayMs = 86_400_000

/** When a new token expires; null: never. A date of a field ends at the end of that local day. */
export function expiryOf(choice: ExpiryChoice, date: string, now: Date): string | null {
  if (choice === "never") return null
  if (choice !== "date") return new Date(now.getTime() + Number(choice) * dayMs).toISOString()
  return new Date(`${date}T23:59:59`).toISOString()
}

/** The next day, as date fields have it: the first day on which a new token can expire. */
export function firstDate(now: Date): string {
  const next = new Date(now.getTime() + dayMs)
  const two = (amount: number) => String(amount).padStart(2, "0")
  return `${next.getFullYear()}-${two(next.getMonth() + 1)}-${two(next.getDate())}`
}

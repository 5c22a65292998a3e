import type { Random } from "../../../../test/fixtures/random.ts"
import type { Record } from "./record.ts"

/** How often each fault strikes where it can: once in this many times. */
const rarity = {
  "answer delayed": 8,
  "request lost": 70,
  "answer dropped after its effect": 60,
  "request repeated": 40,
  "notice repeated": 20,
  "database refuses a change": 120,
  "answer of COMMIT lost": 120,
  "database refuses a read": 200,
  "process killed at an await": 900,
  "process killed at COMMIT": 300,
  "directories cannot be prepared": 30,
  "program does not answer": 12,
} as const

export type Fault = keyof typeof rarity
export const chanceFaults = Object.keys(rarity) as Fault[]

/** Decides by the seed whether a fault strikes. None does in the calm at the end. */
export class Faults {
  isCalm = false
  readonly random: Random
  readonly #record: Record

  constructor(random: Random, record: Record) {
    this.random = random
    this.#record = record
  }

  strikes(fault: Fault, where: string): boolean {
    if (this.isCalm || !this.random.once(rarity[fault])) return false
    this.#record.fault(fault, where)
    return true
  }
}

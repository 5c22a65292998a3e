/**
 * One bound on the work that people or programs can cause. The code reads `value` from here, and
 * `docs/explanation/limits.md` is made from the same entries.
 */
export interface Bound {
  /** The bounded quantity: a noun phrase in plain English, without the number. */
  readonly what: string
  readonly value: number
  readonly unit: BoundUnit
  /** The unit that the bound applies to: "request", "person", "address", "process", … */
  readonly per: string
  /** The effect of exceeding it: the status and code of the answer, or what is closed or ended. */
  readonly beyond: string
  /** The setting that changes it, as `QUAYSIDE_…`. */
  readonly setting?: string
}

export type BoundUnit = "bytes" | "ms" | "count" | "characters" | "levels" | "days" | "percent" | "MiB"
export type Bounds = Readonly<Record<string, Bound>>

/**
 * One bound on what people or programs can make Quayside do. The code reads `value` from here, and
 * `docs/explanation/limits.md` is made from the same entries.
 */
export interface Bound {
  /** What is bounded: a noun phrase in plain English, without the number. */
  readonly what: string
  readonly value: number
  readonly unit: BoundUnit
  /** Whom or what the number counts for: "request", "person", "address", "process", … */
  readonly per: string
  /** What happens beyond it: the status and code that is answered, or what is closed or ended. */
  readonly beyond: string
  /** The setting that changes it, as `QUAYSIDE_…`. */
  readonly setting?: string
}

export type BoundUnit = "bytes" | "ms" | "count" | "characters" | "levels" | "days" | "percent" | "MiB"
export type Bounds = Readonly<Record<string, Bound>>

import { Meter } from "./feedback.tsx"
import { isNearlyFull } from "./nearly-full.ts"

/** The used share of an amount, from 0 to 1; null: nobody knows. */
export function ShareMeter({ share, label }: { share: number | null; label: string }) {
  return <Meter value={share} label={label} {...(share !== null && isNearlyFull(share) ? { tone: "bad" as const } : {})} />
}

import type { Readiness } from "#contract"
import { isNearlyFull } from "../../components/nearly-full.ts"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import type { CapacityAmount } from "../capacity/devices.ts"
import type { ReadinessPart } from "./readiness.ts"

export interface HealthProblem {
  tone: "warn" | "bad"
  text: string
}

interface Known {
  checks: Readiness["checks"] | undefined
  totals: Record<"Cpus" | "Memory" | "Gpus", CapacityAmount> | undefined
}

/** The sentences that an administrator should read, the worst first. */
export function healthProblems({ checks, totals }: Known): HealthProblem[] {
  const { parts, home } = adminTexts.health
  const failed = Object.entries(checks ?? {}).flatMap(([part, { ok, msg }]) =>
    ok ? [] : [{ tone: "bad" as const, text: `${parts[part as ReadinessPart]}: ${msg}` }],
  )
  const names = { Cpus: texts.run.cpu, Memory: texts.run.memory, Gpus: texts.run.gpus }
  const full = totals
    ? (["Cpus", "Memory", "Gpus"] as const).flatMap((name) =>
        isFull(totals[name]) ? [{ tone: "warn" as const, text: home.full(names[name]) }] : [],
      )
    : []
  return [...failed, ...full]
}

function isFull({ total, used }: CapacityAmount): boolean {
  return total > 0 && isNearlyFull(used / total)
}

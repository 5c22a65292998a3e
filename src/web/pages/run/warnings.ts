import type { RunningProject } from "#contract"

export interface EndWarning {
  kind: "idle" | "time"
  at: string
}

/** A run says so long before the end of its time that it ends. */
const warnMs = 600_000

/** The reasons for which the run will be stopped soon. */
export function endWarnings(run: Pick<RunningProject, "IdleExpiresAt" | "ExpiresAt">, now: Date): EndWarning[] {
  const { IdleExpiresAt: idle, ExpiresAt: end } = run
  const warnings: EndWarning[] = []
  if (idle !== null) warnings.push({ kind: "idle", at: idle })
  if (end !== null && Date.parse(end) - now.getTime() <= warnMs) warnings.push({ kind: "time", at: end })
  return warnings
}

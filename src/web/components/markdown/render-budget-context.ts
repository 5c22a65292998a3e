import { createContext, use, useMemo } from "react"
import { RenderBudget } from "./render-budget.ts"

/** The budget that all texts below share. */
export const RenderBudgetContext = createContext<RenderBudget | undefined>(undefined)

/** The budget of the texts around, or one for this text. */
export function useRenderBudget(text: string): RenderBudget {
  const shared = use(RenderBudgetContext)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each text has its own time
  return useMemo(() => shared ?? new RenderBudget(), [shared, text])
}

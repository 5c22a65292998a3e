import { createContext, use, useMemo } from "react"
import { DrawingBudget } from "./drawing-budget.ts"

/** The budget that all texts below share. */
export const DrawingContext = createContext<DrawingBudget | undefined>(undefined)

/** The budget of the texts around, or one for this text. */
export function useDrawingBudget(text: string): DrawingBudget {
  const shared = use(DrawingContext)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each text has its own time
  return useMemo(() => shared ?? new DrawingBudget(), [shared, text])
}

import type { RunState } from "#contract"
import { stateTones } from "../../api/run-actions.ts"
import { Badge } from "../../components/feedback.tsx"
import { texts } from "../../text/index.ts"

export function StateBadge({ state }: { state: RunState }) {
  return <Badge tone={stateTones[state]}>{texts.run.states[state]}</Badge>
}

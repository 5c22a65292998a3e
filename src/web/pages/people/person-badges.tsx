import type { User } from "#contract"
import { Badge } from "../../components/feedback.tsx"
import { adminTexts } from "../../text/administration.ts"

export function PersonBadges({ user: { IsAdmin, IsDisabled } }: { user: Pick<User, "IsAdmin" | "IsDisabled"> }) {
  if (!IsAdmin && !IsDisabled) return null
  return (
    <span className="row">
      {IsAdmin && <Badge tone="good">{adminTexts.people.administrator}</Badge>}
      {IsDisabled && <Badge tone="warn">{adminTexts.people.disabled}</Badge>}
    </span>
  )
}

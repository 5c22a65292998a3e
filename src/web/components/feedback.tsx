import type { ReactNode } from "react"
import { errorText } from "../api/error-text.ts"
import type { Tone } from "../api/run-actions.ts"
import { texts } from "../text/index.ts"
import { Button } from "./button.tsx"

export function Badge({ tone = "quiet", children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className="badge" data-tone={tone}>
      {tone === "busy" && <span className="spinner" aria-hidden="true" />}
      {children}
    </span>
  )
}

/** A sentence that needs attention, with what can be done about it. */
export function Note({ tone = "quiet", children, role }: { tone?: Tone; children: ReactNode; role?: "alert" | "status" }) {
  return (
    <div className="note" data-tone={tone} {...(role ? { role } : {})}>
      {children}
    </div>
  )
}

/** A place where nothing is yet, with the first step. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children}
    </div>
  )
}

/** A failed read or action: one sentence, what helps (here or as usual), and the next step. */
export function ErrorState({ error, hint, onRetry }: { error: unknown; hint?: string | undefined; onRetry?: () => void }) {
  const { title, hint: usualHint, requestId } = errorText(error)
  const help = hint ?? usualHint
  return (
    <Note tone="bad" role="alert">
      <div className="grow">
        <strong>{title}</strong>
        {help && <p>{help}</p>}
        {requestId && <p className="small quiet">{texts.errors.requestId(requestId)}</p>}
      </div>
      {onRetry && (
        <Button size="small" onClick={onRetry}>
          {texts.common.retry}
        </Button>
      )}
    </Note>
  )
}

export function Skeleton({ height = 1 }: { height?: number }) {
  return <span className="skeleton" style={{ height: `${height}rem` }} aria-hidden="true" />
}

/** A share from 0 to 1; null: nobody knows. */
export function Meter({ value, label, tone }: { value: number | null; label: string; tone?: "bad" }) {
  const share = value === null ? undefined : Math.min(1, Math.max(0, value))
  return (
    <span
      className="meter"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      {...(share === undefined ? { "data-unknown": "" } : { "aria-valuenow": Math.round(share * 100) })}
      {...(tone ? { "data-tone": tone } : {})}
    >
      <span style={share === undefined ? {} : { width: `${share * 100}%` }} />
    </span>
  )
}

interface ReadState<T> {
  data: T | undefined
  error: Error | null
  isPending: boolean
  refetch: () => unknown
}

/** The three states of a read: coming, failed, there. Data stays while it is read again. */
export function Loaded<T>({ query, height = 4, children }: { query: ReadState<T>; height?: number; children: (data: T) => ReactNode }) {
  if (query.data !== undefined) return children(query.data)
  if (query.error) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return (
    <div role="status" aria-label={texts.common.loading}>
      <Skeleton height={height} />
    </div>
  )
}

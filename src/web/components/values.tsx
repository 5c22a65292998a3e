import { useEffect, useState, useSyncExternalStore } from "react"
import { formatRelative } from "../api/formats.ts"
import { useLocale } from "../api/locale.ts"
import { texts } from "../text/index.ts"
import { IconButton } from "./button.tsx"

const tickMs = 10_000
const listeners = new Set<() => void>()
let now = new Date()
let ticker: ReturnType<typeof setInterval> | undefined

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  ticker ??= setInterval(() => {
    now = new Date()
    for (const each of listeners) each()
  }, tickMs)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(ticker)
    ticker = undefined
  }
}

/** The time, every ten seconds: one timer for all that shows it. */
export function useNow(): Date {
  return useSyncExternalStore(subscribe, () => now)
}

/** A time relative to now; the exact one shows on hover. */
export function RelativeTime({ value }: { value: string | null }) {
  const current = useNow()
  const locale = useLocale()
  if (value === null) return <span className="quiet">{texts.common.none}</span>
  const time = new Date(value)
  const reference = time.getTime() > current.getTime() && time.getTime() - current.getTime() < tickMs ? time : current
  return (
    <time dateTime={value} title={time.toLocaleString(locale)}>
      {formatRelative(time, reference, locale)}
    </time>
  )
}

const shownMs = 1_500

export function CopyButton({ text, label = texts.common.copy }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return undefined
    const timer = setTimeout(() => setCopied(false), shownMs)
    return () => clearTimeout(timer)
  }, [isCopied])
  return (
    <IconButton
      label={isCopied ? texts.common.copied : label}
      icon={isCopied ? "check" : "copy"}
      size="small"
      onClick={() => void copyText(text).then(() => setCopied(true))}
    />
  )
}

/** A text such as an address, with a button that copies it. */
export function CopyableText({ text }: { text: string }) {
  return (
    <span className="row copied">
      <code className="wrap-anywhere">{text}</code>
      <CopyButton text={text} />
    </span>
  )
}

/** Plain HTTP has no clipboard API, except on this machine: there a selection is copied. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = Object.assign(document.createElement("textarea"), { value: text })
  area.className = "visually-hidden"
  document.body.append(area)
  area.select()
  document.execCommand("copy")
  area.remove()
}

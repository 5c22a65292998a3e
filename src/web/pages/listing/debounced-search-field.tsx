import { useEffect, useState } from "react"
import { SearchField } from "../../components/fields.tsx"
import "./listing.css"

const debounceMs = 250

/** The text goes into the address once the person pauses, so that typing makes few requests. */
export function DebouncedSearchField({ label, value, onValue }: { label: string; value: string; onValue: (value: string) => void }) {
  const [typed, setTyped] = useState(value)
  const [sent, setSent] = useState(value)
  if (value !== sent) {
    setSent(value)
    setTyped(value)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing begins a pause
  useEffect(() => {
    if (typed === value) return undefined
    const timer = setTimeout(() => {
      setSent(typed)
      onValue(typed)
    }, debounceMs)
    return () => clearTimeout(timer)
  }, [typed])
  return <SearchField label={label} value={typed} onValue={setTyped} />
}

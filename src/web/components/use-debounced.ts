import { useEffect, useState } from "react"

/** The value once it has stayed the same for this time. */
export function useDebounced<T>(value: T, debounceMs: number): T {
  const [debounced, setDebounced] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), debounceMs)
    return () => clearTimeout(timer)
  }, [value, debounceMs])
  return debounced
}

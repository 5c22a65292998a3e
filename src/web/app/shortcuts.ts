import { useEffect } from "react"

const fields = "input, textarea, select, [contenteditable]"

/** Ctrl or ⌘ with K opens the palette, and `/` goes to the page's search. */
export function useShortcuts(onPalette: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault()
        onPalette()
      }
      const isTyping = event.target instanceof Element && event.target.closest(fields) !== null
      if (event.key !== "/" || isTyping || event.metaKey || event.ctrlKey || event.altKey) return
      const search = document.querySelector<HTMLElement>("[data-search]")
      if (!search) return
      event.preventDefault()
      search.focus()
    }
    addEventListener("keydown", onKey)
    return () => removeEventListener("keydown", onKey)
  }, [onPalette])
}

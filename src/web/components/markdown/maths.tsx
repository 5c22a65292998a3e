import { useEffect, useRef } from "react"
import "./maths.css"

/** Longer formulas are shown as they were written. */
const maxLength = 2_000
/** So often a formula may replace a macro: each one may double the text. */
const maxExpand = 100

/** A formula as MathML, made of elements and without any string of markup. */
export function Maths({ text, isBlock }: { text: string; isBlock: boolean }) {
  const place = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    const { current } = place
    if (!current) return
    current.textContent = text
    if (text.length > maxLength) return
    void import("temml").then(
      ({ default: temml }) => {
        if (!current.isConnected) return
        current.textContent = ""
        temml.render(text, current, { displayMode: isBlock, throwOnError: false, trust: false, maxExpand })
      },
      // The source of a formula is readable, too.
      () => {},
    )
  }, [text, isBlock])
  return <span ref={place} className="maths" {...(isBlock ? { "data-block": "" } : {})} />
}

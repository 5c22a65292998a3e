import { useEffect, useRef } from "react"
import { useDrawingBudget } from "./drawing-context.ts"
import { maxExpandOf } from "./maths-limits.ts"
import "./maths.css"

/** A formula as MathML, made of elements and without any string of markup. */
export function Maths({ text, isBlock }: { text: string; isBlock: boolean }) {
  const place = useRef<HTMLSpanElement>(null)
  const budget = useDrawingBudget(text)
  useEffect(() => {
    const { current } = place
    if (!current) return
    current.textContent = text
    const maxExpand = maxExpandOf(text)
    if (maxExpand === undefined) return
    let isCurrent = true
    void import("temml").then(
      ({ default: temml }) =>
        budget.draw(() => {
          if (!isCurrent) return
          const drawn = document.createElement("span")
          temml.render(text, drawn, { displayMode: isBlock, throwOnError: false, trust: false, maxExpand })
          current.replaceChildren(...drawn.childNodes)
        }),
      // The source of a formula is readable, too.
      () => {},
    )
    return () => {
      isCurrent = false
    }
  }, [text, isBlock, budget])
  return <span ref={place} className="maths" {...(isBlock ? { "data-block": "" } : {})} />
}

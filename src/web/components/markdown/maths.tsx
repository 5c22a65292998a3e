import { useEffect, useRef } from "react"
import { maxExpandOf } from "./maths-limits.ts"
import { useRenderBudget } from "./render-budget-context.ts"
import "./maths.css"

/** A formula as MathML, made of elements and without any string of markup. */
export function Maths({ text, isBlock }: { text: string; isBlock: boolean }) {
  const place = useRef<HTMLSpanElement>(null)
  const budget = useRenderBudget(text)
  useEffect(() => {
    const { current } = place
    if (!current) return
    current.textContent = text
    const maxExpand = maxExpandOf(text)
    if (maxExpand === undefined) return
    let isCurrent = true
    void import("temml").then(
      ({ default: temml }) =>
        budget.render(() => {
          if (!isCurrent) return
          const rendered = document.createElement("span")
          temml.render(text, rendered, { displayMode: isBlock, throwOnError: false, trust: false, maxExpand })
          current.replaceChildren(...rendered.childNodes)
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

import { type ReactNode, useEffect, useState } from "react"
import { LongText } from "../long-text/long-text.tsx"
import { codeParts } from "./code-parts.ts"
import type { HighlightNode } from "./highlight.ts"
import { useRenderBudget } from "./render-budget-context.ts"
import "./code.css"

/** Longer code is shown without colours: each colour is an element. */
const maxLength = 20_000

/** Code, coloured as soon as the rules of the languages are loaded. */
export function CodeBlock({ text, language }: { text: string; language: string | undefined }) {
  const [parts, setParts] = useState<readonly (readonly HighlightNode[] | string)[]>([text])
  const budget = useRenderBudget(text)
  useEffect(() => {
    let isCurrent = true
    const plain = codeParts(text)
    setParts(plain.map((part) => part.text))
    const colour = async () => {
      if (!language || text.length > maxLength) return
      const { highlight } = await import("./highlight.ts")
      for (const [i, part] of plain.entries()) {
        if (!isCurrent) return
        if (part.isLong) continue
        const render = () => {
          const nodes = isCurrent && highlight(part.text, language)
          if (nodes) setParts((before) => before.with(i, nodes))
        }
        if (!(await budget.render(render))) return
      }
    }
    // Without colours it is readable, too.
    colour().catch(() => {})
    return () => {
      isCurrent = false
    }
  }, [text, language, budget])
  return <pre className="code-block">{parts.map((part, i) => renderPart(part, parts.length > 1 ? i : undefined))}</pre>
}

/** One of several parts is a piece of its own, as in `LongText`. */
function renderPart(part: readonly HighlightNode[] | string, index: number | undefined): ReactNode {
  const content = typeof part === "string" ? <LongText key="text" text={part} /> : part.map(renderNode)
  if (index === undefined) return content
  return (
    <span key={index} className="text-piece">
      {content}
    </span>
  )
}

function renderNode(node: HighlightNode, index: number): ReactNode {
  if (node.type === "text") return node.value
  if (node.type !== "element") return null
  const { className } = node.properties
  return (
    <span key={index} className={Array.isArray(className) ? className.join(" ") : ""}>
      {node.children.map((child, i) => renderNode(child, i))}
    </span>
  )
}

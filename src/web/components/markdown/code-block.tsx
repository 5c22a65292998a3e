import { type ReactNode, useEffect, useState } from "react"
import type { HighlightNode } from "./highlight.ts"
import "./code.css"

/** Longer code is shown without colours: rules of some languages take long on hostile texts. */
const maxLength = 20_000

/** Code, coloured as soon as the rules of the languages are loaded. */
export function CodeBlock({ text, language }: { text: string; language: string | undefined }) {
  const [nodes, setNodes] = useState<readonly HighlightNode[]>()
  useEffect(() => {
    let isCurrent = true
    setNodes(undefined)
    if (language && text.length <= maxLength)
      void import("./highlight.ts").then(
        ({ highlight }) => isCurrent && setNodes(highlight(text, language)),
        // Without colours it is readable, too.
        () => {},
      )
    return () => {
      isCurrent = false
    }
  }, [text, language])
  return <pre className="code-block">{nodes ? nodes.map(drawn) : text}</pre>
}

function drawn(node: HighlightNode, index: number): ReactNode {
  if (node.type === "text") return node.value
  if (node.type !== "element") return null
  const { className } = node.properties
  return (
    <span key={index} className={Array.isArray(className) ? className.join(" ") : ""}>
      {node.children.map((child, i) => drawn(child, i))}
    </span>
  )
}

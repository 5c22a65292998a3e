import type { MarkedOptions } from "marked"

export interface MathsToken {
  type: "maths"
  raw: string
  text: string
  isBlock: boolean
}

export function isMaths(token: { type: string }): token is MathsToken {
  return token.type === "maths"
}

const block = /^ {0,3}\$\$\s*([^$]{1,4000}?)\s*\$\$[ \t]*(?:\n|$)/
const inline = [/^\$\$([^$\n]{1,2000})\$\$/, /^\$`([^`\n]{1,2000})`\$/, /^\$(?!\s)((?:\\.|[^\\$\n]){1,2000})(?<!\s)\$(?![\d\p{L}])/u]

/** GitHub's three ways to write a formula: `$…$`, `` $`…`$ `` and `$$…$$`. */
export const mathsExtensions = {
  block: [(src: string) => tokenOf(block.exec(src), true)],
  inline: [
    (src: string) => {
      if (!src.startsWith("$")) return undefined
      for (const [i, form] of inline.entries()) {
        const found = form.exec(src)
        if (found) return tokenOf(found, i === 0)
      }
      return undefined
    },
  ],
  startBlock: [(src: string) => indexOf(src, "\n$$")],
  startInline: [(src: string) => indexOf(src, "$")],
  renderers: {},
  childTokens: {},
} satisfies NonNullable<MarkedOptions["extensions"]>

function tokenOf(found: RegExpExecArray | null, isBlock: boolean): MathsToken | undefined {
  return found ? { type: "maths", raw: found[0], text: found[1] ?? "", isBlock } : undefined
}

function indexOf(src: string, mark: string): number | undefined {
  const index = src.indexOf(mark)
  return index < 0 ? undefined : index
}

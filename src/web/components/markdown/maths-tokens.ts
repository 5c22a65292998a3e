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

const maxBlockLength = 4_000
const inline = [/^\$\$([^$\n]{1,2000})\$\$/, /^\$`([^`\n]{1,2000})`\$/, /^\$(?!\s)((?:\\.|[^\\$\n]){1,2000})(?<!\s)\$(?![\d\p{L}])/u]

/** GitHub's three ways to write a formula: `$…$`, `` $`…`$ `` and `$$…$$`. */
export const mathsExtensions = {
  block: [blockOf],
  inline: [
    (src: string) => {
      if (!src.startsWith("$")) return undefined
      for (const [i, form] of inline.entries()) {
        const found = form.exec(src)
        if (found) return tokenOf(found[0], found[1] ?? "", i === 0)
      }
      return undefined
    },
  ],
  startBlock: [(src: string) => indexOf(src, "\n$$")],
  startInline: [(src: string) => indexOf(src, "$")],
  renderers: {},
  childTokens: {},
} satisfies NonNullable<MarkedOptions["extensions"]>

/** Without an expression: one that skips spaces takes hours for a text of them. */
function blockOf(src: string): MathsToken | undefined {
  const [opening = ""] = /^ {0,3}\$\$/.exec(src) ?? []
  if (opening === "") return undefined
  const rest = src.slice(opening.length, opening.length + maxBlockLength + 2)
  const end = rest.indexOf("$")
  const text = rest.slice(0, Math.max(0, end)).trim()
  if (text === "" || !rest.startsWith("$$", end)) return undefined
  const [closing] = /^\$\$[ \t]*(?:\n|$)/.exec(src.slice(opening.length + end)) ?? []
  return closing === undefined ? undefined : tokenOf(src.slice(0, opening.length + end + closing.length), text, true)
}

function tokenOf(raw: string, text: string, isBlock: boolean): MathsToken {
  return { type: "maths", raw, text, isBlock }
}

function indexOf(src: string, mark: string): number | undefined {
  const index = src.indexOf(mark)
  return index < 0 ? undefined : index
}

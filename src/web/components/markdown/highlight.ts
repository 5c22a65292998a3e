import { common, createLowlight } from "lowlight"

export type HighlightNode = ReturnType<ReturnType<typeof createLowlight>["highlight"]>["children"][number]

const lowlight = createLowlight(common)

/** The code in parts with classes; undefined for a language that nobody knows. */
export function highlight(code: string, language: string): readonly HighlightNode[] | undefined {
  return lowlight.registered(language) ? lowlight.highlight(language, code).children : undefined
}

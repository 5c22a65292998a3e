/** Longer formulas are shown as they were written. */
const maxLength = 2_000
/** So often a formula may replace a macro. */
const maxExpand = 100

/** A formula's own macros multiply its text, so with them it must be short. */
const maxLengthWithMacros = 200
const maxExpandWithMacros = 20
const definition = /\\(?:[gex]?def|let|futurelet|(?:re)?newcommand|providecommand)(?![A-Za-z])/

/** Each fraction inside of a fraction of units doubles the text. */
const maxUnitFractions = 4
const unit = /\\pu(?![A-Za-z])/

/** How often a formula's macros may be replaced; undefined: it is shown as it was written. */
export function maxExpandOf(text: string): number | undefined {
  if (text.length > maxLength) return undefined
  if (unit.test(text) && text.split("/").length > maxUnitFractions + 1) return undefined
  if (!definition.test(text)) return maxExpand
  return text.length > maxLengthWithMacros ? undefined : maxExpandWithMacros
}

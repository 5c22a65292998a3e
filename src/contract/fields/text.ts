import { bounds } from "../bounds/index.ts"
import type { Failure } from "../failure.ts"
import { type Field, type FieldOptions, invalidField, type Writability, writabilityOf } from "./field.ts"

/**
 * Control characters (C0, DEL and C1) other than tab, line feed and carriage return: nobody types
 * them, and JSON needs six bytes for each.
 */
const controls = "\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f"
const control = new RegExp(`[${controls}]`)
/** Every text matches this. */
export const plainTextPattern = `^[^${controls}]*$`
/** Every text that is not only white space matches this. */
const filledTextPattern = filledPatternWithout(controls)
/** Every name matches this: Unicode's `Bidi_Control` characters are excluded, too. */
export const displayNamePattern = filledPatternWithout(`${controls}\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069`)
/** Every password matches this. */
const passwordPattern = "^[^\\u0000]*$"

function filledPatternWithout(excluded: string): string {
  return `^[^${excluded}]*[^\\s${excluded}][^${excluded}]*$`
}

export function isPlainText(value: string): boolean {
  return value.isWellFormed() && !control.test(value)
}

function checkUnicode(value: string, field: string): void {
  if (!value.isWellFormed()) throw invalidField(field, "well-formed Unicode; it holds half of a surrogate pair")
}

/** Throws unless the text is well-formed Unicode without control characters. */
export function checkPlainText(value: string, field: string): void {
  checkUnicode(value, field)
  const at = value.search(control)
  if (at < 0) return
  const code = value.charCodeAt(at).toString(16).toUpperCase().padStart(4, "0")
  throw invalidField(field, `text without control characters other than tab and line ends; got U+${code} at character ${at + 1}`)
}

/**
 * Throws unless the text is well-formed Unicode without NUL. A password is never shown, so control
 * characters in it do no harm, and accounts with such a password stay valid.
 */
export function checkWellFormed(value: string, field: string): void {
  checkUnicode(value, field)
  if (value.includes("\0")) throw invalidField(field, "text without NUL")
}

export interface TextOptions<W extends Writability> extends FieldOptions<string, W> {
  /** Longest length in characters (code points). Default 1,024. */
  max?: number
  /**
   * Further rule: returns a description of valid texts, or undefined if the text is one.
   */
  format?: (text: string) => string | undefined
  /**
   * For the description: every text that fits matches this, as far as a regular expression can say
   * it.
   */
  pattern?: string
  /** At most so many bytes in UTF-8. Default: as many as `max` characters have. */
  maxBytes?: number
  /** Whether it must be more than white space. Default: only when it is required. */
  filled?: boolean
  /** Checks the characters. Default: `checkPlainText`. */
  characters?: (value: string, field: string) => void
}

export function text<W extends Writability = "optional">(options: TextOptions<W>): Field<string, string, W> {
  return {
    ...fieldOf<string, W>(options, plainTextPattern),
    querySchema: { type: "string", description: options.description, pattern: plainTextPattern },
    fromQuery: (value, field) => {
      checkPlainText(value, field)
      return value
    },
  }
}

/** A text that is never answered and no query compares, such as a password. */
export function secret<W extends Writability = "optional">(options: TextOptions<W>): Field<string, never, W> {
  const field = fieldOf<never, W>({ characters: checkWellFormed, ...options }, passwordPattern)
  return { ...field, schema: { ...field.schema, writeOnly: true }, fromQuery: undefined }
}

function fieldOf<Out, W extends Writability>(options: TextOptions<W>, anyPattern: string): Field<string, Out, W> {
  const { max = bounds.texts.textCharacters.value, maxBytes, format, description } = options
  const write = writabilityOf<W>(options.write, "optional")
  const filled = options.filled ?? write === "required"
  const checkCharacters = options.characters ?? checkPlainText
  return {
    write,
    initial: options.initial ?? (write === "optional" ? "" : undefined),
    schema: { type: "string", description },
    bodySchema: {
      type: "string",
      description,
      maxLength: max,
      ...(filled ? { minLength: 1 } : {}),
      pattern: options.pattern ?? (filled ? filledTextPattern : anyPattern),
    },
    parse: (value, field) => {
      if (typeof value !== "string") throw invalidField(field, "a string", value)
      // A far too long text is refused unread. A character has one or two units.
      if (value.length > 4 * max) throw tooLong(field, max)
      checkCharacters(value, field)
      if (value.length > max) checkLength(value, field, max)
      if (maxBytes !== undefined && value.length * 3 > maxBytes) checkBytes(value, field, maxBytes)
      if (filled && value.trim() === "") throw invalidField(field, "a text that is not empty", value)
      const expected = format?.(value)
      if (expected !== undefined) throw invalidField(field, expected, value)
      return value
    },
    fromQuery: undefined,
  }
}

/** Characters beyond the first plane are two units long and one character. */
function checkLength(value: string, field: string, max: number): void {
  let length = 0
  for (const _ of value) length += 1
  if (length > max) throw tooLong(field, max, `; got ${length.toLocaleString("en")}`)
}

function tooLong(field: string, max: number, got = "; got more than twice as many"): Failure {
  return invalidField(field, `at most ${max.toLocaleString("en")} characters${got}`)
}

function checkBytes(value: string, field: string, max: number): void {
  const bytes = new TextEncoder().encode(value).length
  if (bytes > max) throw invalidField(field, `at most ${max.toLocaleString("en")} bytes in UTF-8; got ${bytes.toLocaleString("en")}`)
}

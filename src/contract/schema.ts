import { bounds } from "./bounds/index.ts"
import { Failure } from "./failure.ts"

/** JSON Schema 2020-12, as far as the contract needs it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * One field of a structure: how it looks in an answer, what a body may set it to, and what a query
 * may compare it with.
 *
 * `write` says what a body can do with it: `never` (ignored: the service keeps or computes it),
 * `optional`, or `required` (wanted by POST). `initial` is what POST stores where an optional field
 * is absent.
 */
export interface Field<T = unknown> {
  readonly write: "never" | "optional" | "required"
  readonly initial: T | undefined
  /** Shape in an answer, description included. */
  readonly schema: JsonSchema
  /** Shape in a body, where it differs from the answer's. */
  readonly bodySchema: JsonSchema | undefined
  /** Shape in a query, where it differs from the answer's. */
  readonly querySchema?: JsonSchema
  /** Checks a body's value; throws a `Failure` that names the field. */
  parse(value: unknown, field: string): T
  /** Reads a query's text; undefined for fields that are no scalars. */
  fromQuery: ((text: string, field: string) => T) | undefined
}

export type Fields = Readonly<Record<string, Field>>
/** An answer with these fields. */
export type Answer<F extends Fields> = { -readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never }

interface Common<T> {
  doc: string
  write?: "never" | "optional" | "required"
  initial?: T
}

export function invalid(field: string, wanted: string, came?: unknown): Failure {
  return new Failure("invalid", `${field} must be ${wanted}${came === undefined ? "" : `; got ${describe(came)}`}`, { field })
}

/** A value in a few words, for error texts: never more than 60 characters of it. */
export function describe(value: unknown): string {
  if (value === null) return "null"
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === "object") return "an object"
  if (typeof value === "string") {
    const shown = JSON.stringify(value.slice(0, 61))
    return shown.length > 60 ? `${shown.slice(0, 57)}…"` : shown
  }
  return String(value)
}

/**
 * Control characters (C0, DEL and C1) other than tab, line feed and carriage return: nobody types
 * them, and JSON needs six bytes for each.
 */
const controls = "\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f"
const control = new RegExp(`[${controls}]`)
/** What every text matches. */
export const plainText = `^[^${controls}]*$`
/** What every text that is not only white space matches. */
const filledText = `^[^${controls}]*[^\\s${controls}][^${controls}]*$`
/** What every password matches. */
const withoutNul = "^[^\\u0000]*$"

export function isPlain(value: string): boolean {
  return value.isWellFormed() && !control.test(value)
}

function checkUnicode(value: string, field: string): void {
  if (!value.isWellFormed()) throw invalid(field, "well-formed Unicode; it holds half of a surrogate pair")
}

/** Throws unless the text is well-formed Unicode without control characters. */
export function checkPlain(value: string, field: string): void {
  checkUnicode(value, field)
  const at = value.search(control)
  if (at < 0) return
  const code = value.charCodeAt(at).toString(16).toUpperCase().padStart(4, "0")
  throw invalid(field, `text without control characters other than tab and line ends; got U+${code} at character ${at + 1}`)
}

/**
 * What a text that is not new is checked for. A password is never answered nor shown, so control
 * characters in it cost nobody anything, and accounts that have such a password keep it.
 */
export function checkWellFormed(value: string, field: string): void {
  checkUnicode(value, field)
  if (value.includes("\0")) throw invalid(field, "text without NUL")
}

export interface TextOptions extends Common<string> {
  /** Longest length in characters (code points). Default 1,024. */
  max?: number
  /**
   * Further rule: returns the sentence of what is wanted when the text does not fit, else
   * undefined.
   */
  format?: (text: string) => string | undefined
  /**
   * For the description: what every text that fits matches, as far as a regular expression can say
   * it.
   */
  pattern?: string
  /** So many bytes at most in UTF-8. Default: as many as `max` characters have. */
  maxBytes?: number
  /** May not be only white space. Default: the same as being required. */
  filled?: boolean
  /** Never answered, such as a password. */
  secret?: boolean
  /** Checks the characters. Default: `checkPlain`. */
  characters?: (value: string, field: string) => void
}

export function text(options: TextOptions): Field<string> {
  const { max = bounds.texts.textCharacters.value, maxBytes, format, doc, write = "optional" } = options
  const filled = options.filled ?? write === "required"
  const checkCharacters = options.characters ?? (options.secret ? checkWellFormed : checkPlain)
  const check = (value: string, field: string): string => {
    checkCharacters(value, field)
    if (value.length > max) checkLength(value, field, max)
    if (maxBytes !== undefined && value.length * 3 > maxBytes) checkBytes(value, field, maxBytes)
    if (filled && value.trim() === "") throw invalid(field, "a text that is not empty", value)
    const wanted = format?.(value)
    if (wanted !== undefined) throw invalid(field, wanted, value)
    return value
  }
  return {
    write,
    initial: options.initial ?? (write === "optional" ? "" : undefined),
    schema: { type: "string", description: doc, ...(options.secret ? { writeOnly: true } : {}) },
    querySchema: { type: "string", description: doc, pattern: plainText },
    bodySchema: {
      type: "string",
      description: doc,
      maxLength: max,
      ...(filled ? { minLength: 1 } : {}),
      pattern: options.pattern ?? (options.secret ? withoutNul : filled ? filledText : plainText),
    },
    parse: (value, field) => {
      if (typeof value !== "string") throw invalid(field, "a string", value)
      return check(value, field)
    },
    fromQuery: options.secret
      ? undefined
      : (value, field) => {
          checkPlain(value, field)
          return value
        },
  }
}

/** Characters beyond the first plane are two units long and one character. */
function checkLength(value: string, field: string, max: number): void {
  let length = 0
  for (const _ of value) length += 1
  if (length > max) throw invalid(field, `at most ${max.toLocaleString("en")} characters; got ${length.toLocaleString("en")}`)
}

function checkBytes(value: string, field: string, max: number): void {
  const bytes = new TextEncoder().encode(value).length
  if (bytes > max) throw invalid(field, `at most ${max.toLocaleString("en")} bytes in UTF-8; got ${bytes.toLocaleString("en")}`)
}

export interface IntegerOptions extends Common<number> {
  /** Default 0. */
  min?: number
  /** Default 2^53 - 1. */
  max?: number
}

export function integer(options: IntegerOptions): Field<number> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER, doc, write = "optional" } = options
  const wanted = `a whole number from ${min} to ${max}`
  const check = (value: unknown, field: string): number => {
    if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) throw invalid(field, wanted, value)
    return value === 0 ? 0 : value
  }
  const schema = { type: "integer", description: doc, minimum: min, maximum: max }
  return {
    write,
    initial: options.initial ?? (write === "optional" ? 0 : undefined),
    schema,
    bodySchema: undefined,
    parse: check,
    fromQuery: (value, field) => {
      if (!/^\d{1,16}$/.test(value)) throw invalid(field, wanted, value)
      return check(Number(value), field)
    },
  }
}

export function flag(options: Common<boolean>): Field<boolean> {
  const { doc, write = "optional" } = options
  return {
    write,
    initial: options.initial ?? false,
    schema: { type: "boolean", description: doc },
    bodySchema: undefined,
    parse: (value, field) => {
      if (typeof value !== "boolean") throw invalid(field, "true or false", value)
      return value
    },
    fromQuery: (value, field) => {
      if (value === "true" || value === "1") return true
      if (value === "false" || value === "0") return false
      throw invalid(field, "true, false, 1 or 0", value)
    },
  }
}

export interface OneOfOptions<T extends string> extends Common<T> {
  values: readonly T[]
}

export function oneOf<const T extends string>(options: OneOfOptions<T>): Field<T> {
  const { values, doc, write = "optional" } = options
  const parse = (value: unknown, field: string): T => {
    if (typeof value !== "string") throw invalid(field, "a string", value)
    if (!(values as readonly string[]).includes(value)) throw invalid(field, `one of ${values.join(", ")}`, value)
    return value as T
  }
  return {
    write,
    initial: options.initial,
    schema: { type: "string", enum: values, description: doc },
    bodySchema: undefined,
    parse,
    fromQuery: parse,
  }
}

/** RFC 3339 in UTC with milliseconds. */
export function time<N extends boolean = false>(
  options: Common<string | null> & { nullable?: N },
): Field<N extends true ? string | null : string> {
  const { doc, write = "never", nullable = false } = options
  type T = N extends true ? string | null : string
  const parse = (value: unknown, field: string): T => {
    if (nullable && value === null) return null as T
    const at = typeof value === "string" ? utcOf(value) : undefined
    if (at === undefined) throw invalid(field, "a time like 2026-01-31T12:00:00.000Z", value)
    return at as T
  }
  return {
    write,
    initial: (options.initial ?? (nullable ? null : undefined)) as T | undefined,
    schema: { type: nullable ? ["string", "null"] : "string", format: "date-time", description: doc },
    // An empty text is no time, whatever a validator makes of formats.
    bodySchema: { type: nullable ? ["string", "null"] : "string", format: "date-time", minLength: 20, description: doc },
    parse,
    fromQuery: parse,
  }
}
const rfc3339 = /^(\d{4}-\d\d-(\d\d))T([01]\d|2[0-3]):\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i

/** Undefined for what is no time, and for what UTC writes with a year of other than four digits. */
function utcOf(text: string): string | undefined {
  const [, date = "", day] = rfc3339.exec(text) ?? []
  // Where a month has no such day, JavaScript takes one of the next month.
  if (new Date(date).getUTCDate() !== Number(day)) return undefined
  const at = new Date(text)
  const utc = Number.isNaN(at.getTime()) ? "" : at.toISOString()
  return /^\d{4}-/.test(utc) ? utc : undefined
}

/** A field with a shape of its own. */
export function shaped<T>(
  options: Common<T> & { schema: JsonSchema; bodySchema?: JsonSchema; parse?: (value: unknown, field: string) => T },
): Field<T> {
  return {
    write: options.write ?? "never",
    initial: options.initial,
    schema: { ...options.schema, description: options.doc },
    bodySchema: options.bodySchema,
    parse:
      options.parse ??
      ((_value, field) => {
        throw invalid(field, "left out")
      }),
    fromQuery: undefined,
  }
}

/**
 * The fields that a body sets, checked; unknown ones and those that the service keeps are passed
 * over. A text that equals what is `stored` is not checked: rules grow stricter, and whatever a GET
 * answered can be sent back with PUT.
 */
export function parseBody<F extends Fields>(fields: F, body: unknown, stored: Readonly<Record<string, unknown>> = {}): Partial<Answer<F>> {
  const object = asObject(body, "The body")
  const result: Record<string, unknown> = {}
  for (const name of Object.keys(fields)) {
    const field = fields[name]
    if (!field || field.write === "never" || !Object.hasOwn(object, name)) continue
    const value = object[name]
    result[name] = typeof value === "string" && value === stored[name] ? value : field.parse(value, name)
  }
  return result as Partial<Answer<F>>
}

/** Fills in what POST stores where a field is absent, and refuses where a required one is. */
export function complete<F extends Fields>(fields: F, given: Partial<Answer<F>>): Answer<F> {
  const result: Record<string, unknown> = { ...given }
  for (const name of Object.keys(fields)) {
    const field = fields[name]
    if (!field || name in result) continue
    if (field.write === "required") throw new Failure("invalid", `${name} is needed`, { field: name })
    if (field.initial !== undefined) result[name] = field.initial
  }
  return result as Answer<F>
}

/** The `ID` by which a PUT names its object. */
export function bodyId(body: unknown, name = "ID"): number {
  const object = asObject(body, "The body")
  if (!Object.hasOwn(object, name)) throw new Failure("invalid", `${name} is needed: it names the object`, { field: name })
  return idField.parse(object[name], name)
}

const idField = integer({ doc: "" })

export function asObject(value: unknown, what: string, field?: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Failure("invalid", `${what} must be a JSON object; got ${describe(value)}`, field === undefined ? {} : { field })
  }
  return value as Readonly<Record<string, unknown>>
}

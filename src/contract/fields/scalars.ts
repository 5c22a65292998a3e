import { type Field, type FieldOptions, invalidField, type Writability, writabilityOf } from "./field.ts"

export interface IntegerOptions<W extends Writability> extends FieldOptions<number, W> {
  /** Default 0. */
  min?: number
  /** Default 2^53 - 1. */
  max?: number
}

export function integer<W extends Writability = "optional">(options: IntegerOptions<W>): Field<number, number, W> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER, description } = options
  const write = writabilityOf<W>(options.write, "optional")
  const expected = `a whole number from ${min} to ${max}`
  const check = (value: unknown, field: string): number => {
    if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) throw invalidField(field, expected, value)
    return value === 0 ? 0 : value
  }
  return {
    write,
    initial: options.initial ?? (write === "optional" ? 0 : undefined),
    schema: { type: "integer", description, minimum: min, maximum: max },
    bodySchema: undefined,
    parse: check,
    fromQuery: (value, field) => {
      if (!/^\d{1,16}$/.test(value)) throw invalidField(field, expected, value)
      return check(Number(value), field)
    },
  }
}

export function boolean<W extends Writability = "optional">(options: FieldOptions<boolean, W>): Field<boolean, boolean, W> {
  const { description } = options
  return {
    write: writabilityOf<W>(options.write, "optional"),
    initial: options.initial ?? false,
    schema: { type: "boolean", description },
    bodySchema: undefined,
    parse: (value, field) => {
      if (typeof value !== "boolean") throw invalidField(field, "true or false", value)
      return value
    },
    fromQuery: (value, field) => {
      if (value === "true" || value === "1") return true
      if (value === "false" || value === "0") return false
      throw invalidField(field, "true, false, 1 or 0", value)
    },
  }
}

export interface EnumOptions<T extends string, W extends Writability> extends FieldOptions<T, W> {
  values: readonly T[]
}

/** One of a closed list of words. */
export function oneOf<const T extends string, W extends Writability = "optional">(options: EnumOptions<T, W>): Field<T, T, W> {
  const { values, description } = options
  const parse = (value: unknown, field: string): T => {
    if (typeof value !== "string") throw invalidField(field, "a string", value)
    const known = values.find((each) => each === value)
    if (known === undefined) throw invalidField(field, `one of ${values.join(", ")}`, value)
    return known
  }
  return {
    write: writabilityOf<W>(options.write, "optional"),
    initial: options.initial,
    schema: { type: "string", enum: values, description },
    bodySchema: undefined,
    parse,
    fromQuery: parse,
  }
}

/** RFC 3339 in UTC with milliseconds. */
export function timestamp<W extends Writability = "never">(options: FieldOptions<string, W>): Field<string, string, W> {
  return { ...timeField<string, W>(options, "string"), parse: parseTime, fromQuery: parseTime }
}

/** The same, or null. */
export function nullableTimestamp<W extends Writability = "never">(
  options: FieldOptions<string | null, W>,
): Field<string | null, string | null, W> {
  const parse = (value: unknown, field: string) => (value === null ? null : parseTime(value, field))
  return { ...timeField<string | null, W>({ initial: null, ...options }, ["string", "null"]), parse, fromQuery: parse }
}

function timeField<T, W extends Writability>({ description, write, initial }: FieldOptions<T, W>, type: string | string[]) {
  const schema = { type, format: "date-time", description }
  // Validators differ in whether an empty text has the format of a time: its length settles it.
  return { write: writabilityOf<W>(write, "never"), initial, schema, bodySchema: { ...schema, minLength: 20 } }
}

function parseTime(value: unknown, field: string): string {
  const utc = typeof value === "string" ? toUtc(value) : undefined
  if (utc === undefined) throw invalidField(field, "a time like 2026-01-31T12:00:00.000Z", value)
  return utc
}

const rfc3339 = /^(\d{4}-\d\d-(\d\d))T([01]\d|2[0-3]):\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i

/** Undefined unless the text is a time, and one that UTC writes with a year of four digits. */
function toUtc(text: string): string | undefined {
  const [, date = "", day] = rfc3339.exec(text) ?? []
  // If a month has no such day, JavaScript uses one of the next month.
  if (new Date(date).getUTCDate() !== Number(day)) return undefined
  const at = new Date(text)
  const utc = Number.isNaN(at.getTime()) ? "" : at.toISOString()
  return /^\d{4}-/.test(utc) ? utc : undefined
}

import { Failure } from "../failure.ts"

/** JSON Schema 2020-12, as far as the contract needs it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * Whether a body sets a field: `never` means that the service sets it and ignores it in a body,
 * `required` that a POST must hold it.
 */
export type Writability = "never" | "optional" | "required"

/**
 * One field of a structure: what an answer shows, what a body may set, and what a query may
 * compare.
 *
 * `In` is the type that a body or query gives, `Out` the type in an answer. A field whose `Out` is
 * `never` is never answered. `initial` is what a POST stores when an optional field is absent.
 */
export interface Field<In = unknown, Out = In, W extends Writability = Writability> {
  readonly write: W
  readonly initial: In | undefined
  /** Shape in an answer, description included. */
  readonly schema: JsonSchema
  /** Shape in a body, if it differs from the answer's. */
  readonly bodySchema: JsonSchema | undefined
  /** Shape in a query, if it differs from the answer's. */
  readonly querySchema?: JsonSchema
  /** Checks a body's value; throws a `Failure` that names the field. */
  parse(value: unknown, field: string): In
  /** Reads a query's text; undefined for fields that are not scalars. */
  readonly fromQuery: ((text: string, field: string) => In) | undefined
  /** Never set: carries the type in an answer. */
  readonly answered?: Out
}

/** A field that an answer may leave out. */
export interface OptionalField<Out> extends Field<never, Out, "never"> {
  readonly isOptional: true
}

export type Fields = Readonly<Record<string, Field>>

/** The type of a field in an answer. */
export type AnswerValue<F> = F extends Field<unknown, infer Out> ? Out : never
/** The type of a field in a body or a query. */
export type BodyValue<F> = F extends Field<infer In, unknown> ? In : never

type IsNever<T> = [T] extends [never] ? true : false
type AnsweredKeys<F extends Fields> = { [K in keyof F]: IsNever<AnswerValue<F[K]>> extends true ? never : K }[keyof F]
type OptionalKeys<F extends Fields> = { [K in keyof F]: F[K] extends { isOptional: true } ? K : never }[keyof F]
type WritableKeys<F extends Fields> = { [K in keyof F]: F[K]["write"] extends "never" ? never : K }[keyof F]
type Flat<T> = { [K in keyof T]: T[K] }

/** An answer with these fields: all but secret ones. */
export type AnswerValues<F extends Fields> = Flat<
  { -readonly [K in Exclude<AnsweredKeys<F>, OptionalKeys<F>>]: AnswerValue<F[K]> } & {
    -readonly [K in OptionalKeys<F>]?: AnswerValue<F[K]>
  }
>
/** The fields that a body sets: all but those that the service sets. */
export type BodyValues<F extends Fields> = { -readonly [K in WritableKeys<F>]: BodyValue<F[K]> }

/** The options of every kind of field. */
export interface FieldOptions<T, W extends Writability> {
  description?: string
  write?: W
  initial?: T
}

/** `fallback` if a field does not set `write`. The type follows the literal. */
export function writabilityOf<W extends Writability>(write: W | undefined, fallback: Writability): W {
  return write ?? (fallback as W)
}

/** The refusal of a field: the expected value and, if given, the received one. */
export function invalidField(field: string, expected: string, received?: unknown): Failure {
  const got = received === undefined ? "" : `; got ${describeValue(received)}`
  return new Failure("invalid", `${field} must be ${expected}${got}`, { field })
}

/** A value in a few words, for error texts: at most 60 characters of it. */
export function describeValue(value: unknown): string {
  if (value === null) return "null"
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === "object") return "an object"
  if (typeof value === "string") {
    const shown = JSON.stringify(value.slice(0, 61))
    return shown.length > 60 ? `${shown.slice(0, 57)}…"` : shown
  }
  return String(value)
}

/** The value as an object; throws a `Failure` if it is something else. */
export function parseObject(value: unknown, what: string, field?: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Failure("invalid", `${what} must be a JSON object; got ${describeValue(value)}`, field === undefined ? {} : { field })
  }
  return value as Readonly<Record<string, unknown>>
}

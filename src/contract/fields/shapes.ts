import {
  type AnswerValue,
  type AnswerValues,
  type Field,
  type FieldOptions,
  type Fields,
  invalidField,
  type JsonSchema,
  type OptionalField,
  type Writability,
  writabilityOf,
} from "./field.ts"

interface CustomOptions<In, W extends Writability> extends FieldOptions<In, W> {
  schema: JsonSchema
  bodySchema?: JsonSchema
  parse: (value: unknown, field: string) => In
}

/** A field that a body sets, with a shape and a check of its own. */
export function custom<In, Out = In, W extends Writability = "optional">(options: CustomOptions<In, W>): Field<In, Out, W> {
  return {
    write: writabilityOf<W>(options.write, "optional"),
    initial: options.initial,
    schema: { ...options.schema, description: options.description },
    bodySchema: options.bodySchema,
    parse: options.parse,
    fromQuery: undefined,
  }
}

/** A field of answers that no body sets. */
export type ReadOnlyField<Out> = Field<never, Out, "never">

/** The same, with a schema of its own. */
export function readOnlyField<Out>(schema: JsonSchema, description?: string): ReadOnlyField<Out> {
  return {
    write: "never",
    initial: undefined,
    schema: description === undefined ? schema : { ...schema, description },
    bodySchema: undefined,
    parse: (_value, field) => {
      throw invalidField(field, "left out")
    },
    fromQuery: undefined,
  }
}

/** A number that need not be whole. */
export function number(options: { description?: string; min?: number } = {}): ReadOnlyField<number> {
  return readOnlyField({ type: "number", ...(options.min === undefined ? {} : { minimum: options.min }) }, options.description)
}

/** Always this value. */
export function constant<const T extends boolean | string>(value: T): ReadOnlyField<T> {
  return readOnlyField({ type: typeof value, const: value })
}

export function list<F extends Field>(of: F, description?: string): ReadOnlyField<readonly AnswerValue<F>[]> {
  return readOnlyField({ type: "array", items: of.schema }, description)
}

/** An object with these fields. */
export function object<const F extends Fields>(fields: F, description?: string): ReadOnlyField<AnswerValues<F>> {
  return readOnlyField(objectSchema(fields), description)
}

/** A text that holds the JSON of an object with these fields. */
export function jsonText<const F extends Fields>(fields: F, description?: string): ReadOnlyField<AnswerValues<F>> {
  return readOnlyField({ type: "string", contentMediaType: "application/json", contentSchema: objectSchema(fields) }, description)
}

/** The same field, or null. */
export function nullable<F extends Field>(field: F, description?: string): ReadOnlyField<AnswerValue<F> | null> {
  return readOnlyField({ ...field.schema, type: [field.schema.type, "null"] }, description)
}

/** The same field, which an answer may leave out. */
export function optional<F extends Field>(field: F, description?: string): OptionalField<AnswerValue<F>> {
  return { ...readOnlyField<AnswerValue<F>>(field.schema, description), isOptional: true }
}

/** The value of an answer with these fields. */
export function objectSchema(fields: Fields): JsonSchema {
  const shown = Object.entries(fields).filter(([, field]) => field.schema.writeOnly !== true)
  const required = shown.filter(([, field]) => !("isOptional" in field)).map(([name]) => name)
  return {
    type: "object",
    properties: Object.fromEntries(shown.map(([name, field]) => [name, field.schema])),
    ...(required.length > 0 ? { required } : {}),
  }
}

import {
  type AnswerValues,
  type Field,
  type FieldOptions,
  type FieldOut,
  type Fields,
  invalid,
  type JsonSchema,
  type OptionalField,
  type Write,
  writeOf,
} from "./field.ts"

interface CustomOptions<In, W extends Write> extends FieldOptions<In, W> {
  schema: JsonSchema
  bodySchema?: JsonSchema
  parse: (value: unknown, field: string) => In
}

/** A field that a body sets, with a shape and a check of its own. */
export function custom<In, Out = In, W extends Write = "optional">(options: CustomOptions<In, W>): Field<In, Out, W> {
  return {
    write: writeOf<W>(options.write, "optional"),
    initial: options.initial,
    schema: { ...options.schema, description: options.doc },
    bodySchema: options.bodySchema,
    parse: options.parse,
    fromQuery: undefined,
  }
}

/** A field that only answers hold. */
export type AnswerField<Out> = Field<never, Out, "never">

/** A field that only answers hold, with a schema of its own. */
export function answerOnly<Out>(schema: JsonSchema, doc?: string): AnswerField<Out> {
  return {
    write: "never",
    initial: undefined,
    schema: doc === undefined ? schema : { ...schema, description: doc },
    bodySchema: undefined,
    parse: (_value, field) => {
      throw invalid(field, "left out")
    },
    fromQuery: undefined,
  }
}

/** A number that need not be whole. */
export function number(options: { doc?: string; min?: number } = {}): AnswerField<number> {
  return answerOnly({ type: "number", ...(options.min === undefined ? {} : { minimum: options.min }) }, options.doc)
}

/** Always this value. */
export function constant<const T extends boolean | string>(value: T): AnswerField<T> {
  return answerOnly({ type: typeof value, const: value })
}

export function list<F extends Field>(of: F, doc?: string): AnswerField<readonly FieldOut<F>[]> {
  return answerOnly({ type: "array", items: of.schema }, doc)
}

/** An object with these fields. */
export function object<const F extends Fields>(fields: F, doc?: string): AnswerField<AnswerValues<F>> {
  return answerOnly(objectSchema(fields), doc)
}

/** A text that holds the JSON of an object with these fields. */
export function jsonText<const F extends Fields>(fields: F, doc?: string): AnswerField<AnswerValues<F>> {
  return answerOnly({ type: "string", contentMediaType: "application/json", contentSchema: objectSchema(fields) }, doc)
}

/** The same field, or null. */
export function nullable<F extends Field>(field: F, doc?: string): AnswerField<FieldOut<F> | null> {
  return answerOnly({ ...field.schema, type: [field.schema.type, "null"] }, doc)
}

/** The same field, which an answer may leave out. */
export function optional<F extends Field>(field: F, doc?: string): OptionalField<FieldOut<F>> {
  return { ...answerOnly<FieldOut<F>>(field.schema, doc), isOptional: true }
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

import type { AnswerValues, Fields, JsonSchema } from "./field.ts"
import { objectSchema, type ReadOnlyField, readOnlyField } from "./shapes.ts"

/** A named shape of answers; the description holds it once and refers to it by its name. */
export interface Structure<Out = unknown, N extends string = string> {
  readonly name: N
  readonly schema: JsonSchema
  /** Never set: carries the type of the values. */
  readonly answered?: Out
}

/** The type of a structure's values. */
export type StructureValue<S> = S extends Structure<infer Out> ? Out : never

/** An object with these fields, all of which an answer holds unless they are optional. */
export function structure<const F extends Fields, N extends string>(
  name: N,
  fields: F,
  description?: string,
): Structure<AnswerValues<F>, N> {
  const schema = objectSchema(fields)
  return { name, schema: description === undefined ? schema : { ...schema, description } }
}

/** Either the object, or its ID alone if the caller may not see it. */
export function wholeOrId<Out, N extends string>(name: N, whole: Structure<Out>, description: string): Structure<Out | { ID: number }, N> {
  return { name, schema: { description, anyOf: [refTo(whole), idOnlySchema] } }
}

export const idOnlySchema: JsonSchema = {
  type: "object",
  properties: { ID: { type: "integer" } },
  required: ["ID"],
  additionalProperties: false,
}

export function refTo({ name }: Structure): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}

/** A field that holds such a structure. */
export function structureField<Out>(structure: Structure<Out>, description: string): ReadOnlyField<Out> {
  return readOnlyField(refTo(structure), description)
}

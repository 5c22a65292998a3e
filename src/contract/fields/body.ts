import { Failure } from "../failure.ts"
import { type BodyValues, type Fields, parseObject } from "./field.ts"
import { integer } from "./scalars.ts"

/** Field values as they are stored, by their names. */
export type StoredValues = Readonly<Record<string, unknown>>

/**
 * Checks the fields that a body sets. It ignores unknown fields and those that the service sets. A
 * text that equals the stored one is not checked: rules grow stricter, and a PUT accepts what a GET
 * answered.
 */
export function parseBody<F extends Fields>(fields: F, body: unknown, stored: StoredValues = {}): Partial<BodyValues<F>> {
  const object = parseObject(body, "The body")
  const result: Record<string, unknown> = {}
  for (const name of Object.keys(fields)) {
    const field = fields[name]
    if (!field || field.write === "never" || !Object.hasOwn(object, name)) continue
    const value = object[name]
    result[name] = typeof value === "string" && value === stored[name] ? value : field.parse(value, name)
  }
  return result as Partial<BodyValues<F>>
}

/**
 * Checks the body of a POST and adds what it stores for absent fields; a required one must be
 * there.
 */
export function parseNew<F extends Fields>(fields: F, body: unknown): BodyValues<F> {
  const result: Record<string, unknown> = parseBody(fields, body)
  for (const name of Object.keys(fields)) {
    const field = fields[name]
    if (!field || field.write === "never" || name in result) continue
    if (field.write === "required") throw new Failure("invalid", `${name} is needed`, { field: name })
    if (field.initial !== undefined) result[name] = field.initial
  }
  return result as BodyValues<F>
}

/**
 * The body of a PUT. Its `ID` is known before anything is read; its other fields are checked
 * against what is stored.
 */
export class BodyChanges<F extends Fields> {
  readonly ID: number
  readonly #fields: F
  readonly #body: unknown

  /** Throws a `Failure` unless the body is an object with an `ID`. */
  constructor(fields: F, body: unknown) {
    this.ID = parseBodyId(body)
    this.#fields = fields
    this.#body = body
  }

  /** The fields that the body sets, checked. A text that equals the stored one is not. */
  check(stored: StoredValues = {}): Partial<BodyValues<F>> {
    return parseBody(this.#fields, this.#body, stored)
  }

  /** Some of the fields that the body sets, checked. */
  checkOnly<K extends keyof BodyValues<F> & string>(...names: readonly K[]): Partial<Pick<BodyValues<F>, K>> {
    const chosen = Object.fromEntries(names.map((name) => [name, this.#fields[name]])) as unknown as F
    return parseBody(chosen, this.#body) as Partial<Pick<BodyValues<F>, K>>
  }
}

function parseBodyId(body: unknown): number {
  const object = parseObject(body, "The body")
  if (!Object.hasOwn(object, "ID")) throw new Failure("invalid", "ID is needed: it names the object", { field: "ID" })
  return id.parse(object.ID, "ID")
}

const id = integer({})

/** The use of a body: to create an object, or to change one. */
export interface BodyShape {
  fields: Fields
  mode: "create" | "update"
}

/** A body as the handler of an operation gets it. */
export type ParsedBody<B extends BodyShape> = B["mode"] extends "create" ? BodyValues<B["fields"]> : BodyChanges<B["fields"]>

/** Parses the JSON of a body by its endpoint. */
export function parseRequestBody<B extends BodyShape>({ fields, mode }: B, json: unknown): ParsedBody<B> {
  return (mode === "create" ? parseNew(fields, json) : new BodyChanges(fields, json)) as ParsedBody<B>
}

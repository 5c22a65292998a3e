import type { RowOf, TableColumns } from "./row-mapper.ts"
import type { stamps } from "./stamps.ts"
import type { Table } from "./table.ts"

interface FieldsOfTable<F extends TableColumns> {
  readonly fields: F
}

interface BodyFieldsOfTable<F extends TableColumns> extends FieldsOfTable<F>, Pick<Table, "bodyFields"> {}

type ApiNameOf<C> = C extends { readonly apiName: infer Name extends string } ? Name : never

/** Fields that a body may set: those with an API name that the store does not set itself. */
type BodyField<F> = {
  [K in keyof F]: K extends keyof typeof stamps
    ? never
    : F[K] extends { readonly isCopied: true }
      ? never
      : [ApiNameOf<F[K]>] extends [never]
        ? never
        : K
}[keyof F]

/** The values of a body for a table's fields, by their API names. */
export type BodyFieldsOf<F extends TableColumns> = { [K in BodyField<F> as ApiNameOf<F[K]>]: RowOf<F>[K] }

/** The fields of a new row in a complete body. */
export function fieldsFromBody<F extends TableColumns>(table: BodyFieldsOfTable<F>, body: BodyFieldsOf<F>): Pick<RowOf<F>, BodyField<F>> {
  return givenFields(table, body) as Pick<RowOf<F>, BodyField<F>>
}

/** The fields of a row that a body changes. */
export function changesFromBody<F extends TableColumns>(
  table: BodyFieldsOfTable<F>,
  body: Partial<BodyFieldsOf<F>>,
): Partial<Pick<RowOf<F>, BodyField<F>>> {
  return givenFields(table, body) as Partial<Pick<RowOf<F>, BodyField<F>>>
}

function givenFields({ bodyFields }: Pick<Table, "bodyFields">, body: Readonly<Record<string, unknown>>): object {
  const given: Record<string, unknown> = {}
  for (const [field, apiName] of bodyFields) if (body[apiName] !== undefined) given[field] = body[apiName]
  return given
}

/** The field of a row for each API name. */
export function fieldsByApiName({ fields }: FieldsOfTable<TableColumns>): Readonly<Record<string, string>> {
  const named: Record<string, string> = {}
  for (const [field, { apiName }] of Object.entries(fields)) if (apiName !== undefined) named[apiName] = field
  return named
}

/** The stored values of a row by their API names. */
export function valuesByApiName<F extends TableColumns>(table: FieldsOfTable<F>, row: RowOf<F>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fieldsByApiName(table)).map(([apiName, field]) => [apiName, row[field]]))
}

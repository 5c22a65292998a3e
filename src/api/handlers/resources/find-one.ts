import { setImmediate as yieldToOthers } from "node:timers/promises"
import { notFound } from "#access"
import { Failure } from "#contract"
import { fieldsByApiName, type RowPage, type RowPageRequest } from "#store"

/** How the fields of a structure are found in the store's rows. */
export type FieldColumns = Readonly<Record<string, { column?: string; toColumn?: (value: unknown) => unknown }>>

const toTime = (value: unknown) => (value === null ? null : Date.parse(value as string))

export const timeColumn = (column: string) => ({ column, toColumn: toTime })
const timeColumns: FieldColumns = {
  CreatedAt: timeColumn("createdAt"),
  UpdatedAt: timeColumn("updatedAt"),
  DeletedAt: timeColumn("deletedAt"),
}

/** All fields of a table's resources that the store compares. */
export function fieldColumnsOf(table: Parameters<typeof fieldsByApiName>[0]): FieldColumns {
  const named = Object.entries(fieldsByApiName(table)).map(([apiName, column]) => [apiName, { column }])
  return { ...Object.fromEntries(named), ...timeColumns }
}

/** A time that is compared in the response. */
export const timeInResponse = { toColumn: toTime }

export interface FindOneOptions<Row, Answer> {
  /** The word in messages. */
  label: string
  columns: FieldColumns
  list(where: Record<string, unknown>, page: RowPageRequest): Promise<RowPage<Row>>
  /** Long texts may be missing in the answers. They are compared in the store. */
  toResponses(found: RowPage<Row>): Promise<Answer[]>
  /**
   * Limits how many searches of one person run at once. A search may read everything that they see.
   */
  scan<T>(work: () => Promise<T>): Promise<T>
}

/**
 * The only object with the given fields. None is 404, and several are 409. Stored fields are
 * compared in the store. Fields that are computed, or hidden from some callers, are compared on the
 * answers, so that nobody finds a resource by a value that they may not see.
 */
export async function findOne<Row, Answer extends object>(
  query: Readonly<Record<string, unknown>>,
  options: FindOneOptions<Row, Answer>,
): Promise<{ row: Row; answer: Answer }> {
  const { label, columns, scan } = options
  if (Object.keys(query).length === 0)
    throw new Failure("invalid", `ID, or other fields that pick exactly one ${label}, are needed`, { field: "ID" })
  const where: Record<string, unknown> = {}
  const computed: [name: string, value: unknown, toColumn: (value: unknown) => unknown][] = []
  for (const [name, value] of Object.entries(query)) {
    const { column, toColumn = (as: unknown) => as } = columns[name] ?? {}
    if (column) where[column] = toColumn(value)
    else computed.push([name, toColumn(value), toColumn])
  }
  const fits = (answer: Answer) =>
    computed.every(([name, value, toColumn]) => toColumn((answer as Record<string, unknown>)[name]) === value)
  const search = () => searchFor(options, { where, pageSize: computed.length === 0 ? 2 : 200, fits })
  const found = await (computed.length === 0 ? search() : scan(search))
  if (found.length > 1) throw new Failure("conflict", `Several ${label}s have these fields: add others, or read one by ID`)
  if (!found[0]) throw notFound(label)
  return found[0]
}

interface Search<Answer> {
  where: Record<string, unknown>
  pageSize: number
  fits(answer: Answer): boolean
}

/** The matching objects; if there are several, at least two of them. */
async function searchFor<Row, Answer extends object>(
  options: FindOneOptions<Row, Answer>,
  { where, pageSize, fits }: Search<Answer>,
): Promise<{ row: Row; answer: Answer }[]> {
  const found: { row: Row; answer: Answer }[] = []
  for (let page = 1; ; page += 1) {
    const list = await options.list(where, { page, pageSize })
    const answers = await options.toResponses(list)
    answers.forEach((answer, i) => {
      if (fits(answer)) found.push({ row: list.rows[i] as Row, answer })
    })
    if (found.length > 1 || page * pageSize >= list.total) return found
    // A search may read everything that the caller sees, so other requests run between its pages.
    await yieldToOthers()
  }
}

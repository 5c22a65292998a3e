import { Failure } from "#contract"
import type { Page, PageRequest } from "#store"

/** How the fields of a structure are found in the store's rows. */
export type Columns = Readonly<Record<string, { column: string; toColumn?: (value: unknown) => unknown }>>

export const timeColumn = (column: string) => ({
  column,
  toColumn: (value: unknown) => (value === null ? null : Date.parse(value as string)),
})

export interface Finding<Row, Answer> {
  /** What messages call it. */
  what: string
  columns: Columns
  list(where: Record<string, unknown>, page: PageRequest): Promise<Page<Row>>
  answer(rows: Row[]): Promise<Answer[]>
}

/**
 * The one object that the given fields pick: none is 404, several are 409. Fields that the store keeps are compared there; computed ones are compared on the
 * answers, which costs what it costs.
 */
export async function findOne<Row, Answer extends object>(
  query: Readonly<Record<string, unknown>>,
  finding: Finding<Row, Answer>,
): Promise<{ row: Row; answer: Answer }> {
  const { what, columns } = finding
  if (Object.keys(query).length === 0)
    throw new Failure("invalid", `ID, or other fields that pick exactly one ${what}, are needed`, { field: "ID" })
  const where: Record<string, unknown> = {}
  const computed: [string, unknown][] = []
  for (const [name, value] of Object.entries(query)) {
    const entry = columns[name]
    if (entry) where[entry.column] = entry.toColumn ? entry.toColumn(value) : value
    else computed.push([name, value])
  }
  const found: { row: Row; answer: Answer }[] = []
  const pageSize = computed.length === 0 ? 2 : 200
  for (let page = 1; ; page += 1) {
    const { rows } = await finding.list(where, { page, pageSize })
    const answers = await finding.answer(rows)
    answers.forEach((answer, i) => {
      if (computed.every(([name, value]) => (answer as Record<string, unknown>)[name] === value))
        found.push({ row: rows[i] as Row, answer })
    })
    if (found.length > 1) throw new Failure("conflict", `Several ${what}s have these fields: add others, or read one by ID`)
    if (computed.length === 0 || rows.length < pageSize) break
  }
  if (!found[0]) throw notFound(what)
  return found[0]
}

/** The same whether it is hidden from the caller or missing. */
export function notFound(what: string): Failure {
  return new Failure("not_found", `There is no such ${what}, or it may not be seen`)
}

import type { ReactNode } from "react"
import { texts } from "../text/index.ts"
import { IconButton } from "./button.tsx"

export interface Column<T> {
  title: string
  cell: (row: T) => ReactNode
  isNumber?: boolean
  /** A column of buttons: its title is only read aloud. */
  isActions?: boolean
}

export interface Paging {
  page: number
  pageCount: number
  onPage: (page: number) => void
}

interface TableProps<T> {
  label: string
  rows: readonly T[]
  columns: readonly Column<T>[]
  keyOf: (row: T) => string | number
  /** Lists are paged by the server. */
  paging?: Paging
}

export function Table<T>({ label, rows, columns, keyOf, paging }: TableProps<T>) {
  return (
    <div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard */}
      <section className="table-frame" aria-label={label} tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              {columns.map(({ title, isNumber, isActions }) => (
                <th key={title} scope="col" className={isNumber ? "number-cell" : undefined}>
                  {isActions ? <span className="visually-hidden">{title}</span> : title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={keyOf(row)}>
                {columns.map(({ title, cell, isNumber, isActions }) => (
                  <td key={title} className={isNumber ? "number-cell" : isActions ? "actions-cell" : undefined}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p className="scroll-hint quiet small" aria-hidden="true">
        {texts.common.scrollHint}
      </p>
      {paging && paging.pageCount > 1 && <Pager {...paging} />}
    </div>
  )
}

export function Pager({ page, pageCount, onPage }: Paging) {
  return (
    <nav className="pager" aria-label={texts.common.page(page, pageCount)}>
      <span className="quiet small">{texts.common.page(page, pageCount)}</span>
      <IconButton label={texts.common.previous} icon="left" disabled={page <= 1} onClick={() => onPage(page - 1)} />
      <IconButton label={texts.common.next} icon="right" disabled={page >= pageCount} onClick={() => onPage(page + 1)} />
    </nav>
  )
}

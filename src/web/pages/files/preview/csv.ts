const maxColumns = 200
/** Longer cells are cut. */
const maxCellLength = 1_000

/** The first rows of a table in CSV or TSV (RFC 4180): quoted fields may hold everything. */
export function parseCsv(text: string, { separator, maxRows }: { separator: string; maxRows: number }): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  let field = ""
  let isQuoted = false
  const endField = () => {
    if (row.length < maxColumns) row.push(field.length > maxCellLength ? `${field.slice(0, maxCellLength)}…` : field)
    field = ""
  }
  const endRow = () => {
    endField()
    if (row.length > 1 || row[0] !== "") rows.push(row)
    row = []
  }
  for (let i = 0; i < text.length && rows.length < maxRows; i += 1) {
    const c = text[i] as string
    if (isQuoted) {
      if (c !== '"') field += c
      else if (text[i + 1] === '"') {
        field += c
        i += 1
      } else isQuoted = false
    } else if (c === '"' && field === "") isQuoted = true
    else if (c === separator) endField()
    else if (c === "\n") endRow()
    else if (c !== "\r") field += c
  }
  if (rows.length < maxRows && (field !== "" || row.length > 0)) endRow()
  return rows
}

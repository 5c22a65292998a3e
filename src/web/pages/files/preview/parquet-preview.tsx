import { useQuery } from "@tanstack/react-query"
import { Failure } from "#contract"
import { type FileEntry, readRange } from "../../../api/files-client.ts"
import { Loaded, Note } from "../../../components/feedback.tsx"
import { files } from "../../../text/files.ts"
import { DataTable } from "./data-table.tsx"
import { readParquet, TableTooLargeError } from "./parquet.ts"

const labels = files.preview

/** The first rows of a table, read by the parts that they need. */
export function ParquetPreview({ path, entry }: { path: string; entry: FileEntry }) {
  const table = useQuery({
    queryKey: ["parquet", path, entry.ETag],
    queryFn: async ({ signal }) => {
      const slice = (start: number, end?: number) => readRange(path, { start, end: end ?? entry.Size ?? 0 }, signal)
      return readParquet({ byteLength: entry.Size ?? 0, slice })
    },
    gcTime: 0,
    retry: false,
  })
  const { error } = table
  if (error && isOfFile(error))
    return <Note tone="warn">{error instanceof TableTooLargeError ? labels.tooMuch : labels.brokenTable(error.message)}</Note>
  return (
    <Loaded query={table} height={12}>
      {({ head, rows, rowCount, columnCount }) => (
        <div className="stack">
          <DataTable head={head} rows={rows} />
          <p className="quiet small">{labels.part({ rows: rows.length, rowCount, columns: head.length, columnCount })}</p>
        </div>
      )}
    </Loaded>
  )
}

/** Other errors are of the connection, and reading again may help. */
function isOfFile(error: Error): boolean {
  return !(error instanceof Failure) && error.message !== "Failed to fetch"
}

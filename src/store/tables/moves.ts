import { integer, text } from "./column.ts"
import type { RowOf } from "./row-mapper.ts"
import { describeTable } from "./table.ts"

export const datasetMovesTable = describeTable({
  name: "moves",
  fields: { dataId: integer("data_id"), from: text("from_path"), to: text("to_path") },
})

/**
 * A dataset's directory that moves to another owner: recorded before the directory is renamed, and
 * removed by the change that gives the row its new owner.
 */
export interface DatasetMove extends RowOf<typeof datasetMovesTable.fields> {}

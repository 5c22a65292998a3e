import { indexKey } from "../fold.ts"
import { query } from "../queries/query.ts"
import type { DataRow, DatasetMove, DatasetWriter, Viewer } from "../rows.ts"
import type { DataReads, DataWrites, NewRow } from "../store.ts"
import { datasetMovesTable, datasetsTable, datasetWritersTable } from "../tables/datasets.ts"
import { type RepositoryContext, ResourceRepository } from "./resource.ts"

const plannedMoves = query("plannedMoves")
const planMove = query("planMove")
const endMove = query("endMove")
const writers = query("datasetWriters")
const recordWriter = query("recordDatasetWriter")
const around = query("datasetsAround")
const at = query("datasetsAt")
const visible = { all: query("visibleBetween", "all"), some: query("visibleBetween", "some") }

export class DatasetRepository extends ResourceRepository<DataRow> implements DataReads, DataWrites {
  constructor(context: RepositoryContext) {
    super(context, datasetsTable)
  }

  async overlapping(accessInfo: string): Promise<DataRow[]> {
    const found = await this.runner.all(around, { above: parents(accessInfo).map(indexKey), ...keysBelow(accessInfo) })
    const ownPrefix = prefixBelow(accessInfo)
    return found
      .map(datasetsTable.toRow)
      .filter(
        (row) =>
          row.accessInfo === accessInfo || row.accessInfo.startsWith(ownPrefix) || accessInfo.startsWith(prefixBelow(row.accessInfo)),
      )
  }

  async containing(path: string): Promise<DataRow[]> {
    const paths = parents(path)
    return (await this.runner.all(at, { above: paths.map(indexKey), paths })).map(datasetsTable.toRow)
  }

  async visibleBelow(path: string, viewer: Viewer): Promise<boolean> {
    const prefix = prefixBelow(path)
    // Long paths have truncated keys, so their range may contain other directories, too.
    const range = { ...keysBelow(path), prefix, length: [...prefix].length }
    const seen = viewer.seesAll ? visible.all : visible.some
    const found = await this.runner.all(seen, { ...range, user_id: viewer.userId, groups: viewer.groupIds, now: this.clock.now() })
    return found.length > 0
  }

  async writers(ids: readonly number[]): Promise<DatasetWriter[]> {
    if (ids.length === 0) return []
    return (await this.runner.all(writers, { data_ids: ids })).map(datasetWritersTable.toRow)
  }

  override async update(id: number, fields: Partial<NewRow<DataRow>>): Promise<DataRow | undefined> {
    const before = fields.userId === undefined ? undefined : await this.get(id)
    if (before && before.userId !== fields.userId)
      await this.runner.run(recordWriter, datasetWritersTable.toColumns({ dataId: id, userId: before.userId, groupId: 0 }))
    return super.update(id, fields)
  }

  async moves(): Promise<DatasetMove[]> {
    return (await this.runner.all(plannedMoves, {})).map(datasetMovesTable.toRow)
  }

  async planMove(move: DatasetMove): Promise<boolean> {
    return (await this.runner.run(planMove, datasetMovesTable.toColumns(move))) > 0
  }

  async endMove(dataId: number): Promise<void> {
    await this.runner.run(endMove, { data_id: dataId })
  }
}

/** The prefix of every path strictly below this one. */
function prefixBelow(path: string): string {
  return path.endsWith("/") ? path : `${path}/`
}

/**
 * The keys of the paths below a path, the second excluded: `0` follows `/`. A truncated key is
 * compared exactly.
 */
function keysBelow(path: string): { from: string; until: string } {
  const prefix = prefixBelow(path)
  const from = indexKey(prefix)
  return from === prefix ? { from, until: `${prefix.slice(0, -1)}0` } : { from, until: `${from}\u0001` }
}

/** The path itself and everything above it. */
function parents(path: string): string[] {
  const names = path.split("/").filter((name) => name !== "")
  return ["/", ...names.map((_, i) => `/${names.slice(0, i + 1).join("/")}`)]
}

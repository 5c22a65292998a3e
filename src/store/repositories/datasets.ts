import { indexKey, keyLength } from "../fold.ts"
import { query } from "../queries/query.ts"
import type { DataRow, DatasetDirectory, DatasetMove, DatasetWriter, Viewer } from "../rows.ts"
import type { DataReads, DataWrites, NewRow } from "../store.ts"
import { datasetDirectoryMapper, datasetMovesTable, datasetsTable, datasetWritersTable, directoryOwnerMapper } from "../tables/datasets.ts"
import { type RepositoryContext, ResourceRepository } from "./resource.ts"

const plannedMoves = query("plannedMoves")
const planMove = query("planMove")
const endMove = query("endMove")
const writers = query("datasetWriters")
const writersAround = query("writersAround")
const recordWriter = query("recordDatasetWriter")
const directoryOwners = query("directoryOwners")
const around = query("datasetsAround")
const at = query("datasetsAt")
const visible = { all: query("visibleBetween", "all"), some: query("visibleBetween", "some") }

/** How many paths one query is about. */
const pathsPerQuery = 500

export class DatasetRepository extends ResourceRepository<DataRow> implements DataReads, DataWrites {
  constructor(context: RepositoryContext) {
    super(context, datasetsTable)
  }

  async overlapping(accessInfo: string): Promise<DatasetDirectory[]> {
    const found = await this.runner.all(around, { above: keysAbove(accessInfo), ...keysBelow(accessInfo) })
    return found
      .map(datasetDirectoryMapper.toRow)
      .filter((row) => row.accessInfo === accessInfo || isBelow(row.accessInfo, accessInfo) || isBelow(accessInfo, row.accessInfo))
  }

  async containing(path: string): Promise<DataRow[]> {
    const found = (await this.runner.all(at, { above: keysAbove(path), path })).map(datasetsTable.toRow)
    return found.filter(({ accessInfo }) => accessInfo === path || isBelow(path, accessInfo))
  }

  async ownersOf(paths: readonly string[]): Promise<Map<string, string>> {
    const owners = new Map<string, string>()
    const found = (path: string, owner: string | undefined) => void (owner !== undefined && owners.set(path, owner))
    const short = paths.filter(({ length }) => length < keyLength)
    for (let from = 0; from < short.length; from += pathsPerQuery) {
      const asked = short.slice(from, from + pathsPerQuery)
      const rows = await this.runner.all(directoryOwners, { keys: [...new Set(asked.flatMap(keysAbove))] })
      const directories = new Map(rows.map(directoryOwnerMapper.toRow).map(({ accessInfo, userName }) => [accessInfo, userName]))
      for (const path of asked) found(path, ownerOfInnermost(directories, path))
    }
    // Any number of datasets may have the key of a long path.
    for (const path of paths.filter(({ length }) => length >= keyLength)) {
      const directories = new Map((await this.containing(path)).reverse().map(({ accessInfo, userName }) => [accessInfo, userName]))
      found(path, ownerOfInnermost(directories, path))
    }
    return owners
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

  async writersAround(paths: readonly string[]): Promise<Omit<DatasetWriter, "dataId">[]> {
    const ranges = paths.map(keysBelow)
    const outermost = ranges.filter(
      ({ from }, i) =>
        ranges.findIndex((other) => other.from === from) === i &&
        !ranges.some((other) => other.from !== from && from.startsWith(other.from)),
    )
    const above = [...new Set(paths.flatMap(keysAbove))]
    const found: Omit<DatasetWriter, "dataId">[] = []
    for (const [i, range] of outermost.entries()) {
      const rows = await this.runner.all(writersAround, { above: i === 0 ? above : [], ...range })
      found.push(...rows.map(([userId, groupId]) => ({ userId: userId as number, groupId: groupId as number })))
    }
    return found
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

function ownerOfInnermost(directories: ReadonlyMap<string, string>, path: string): string | undefined {
  for (let at = path; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
    const owner = directories.get(at)
    if (owner !== undefined) return owner
  }
  return directories.get("/")
}

/** The prefix of every path strictly below this one. */
function prefixBelow(path: string): string {
  return path.endsWith("/") ? path : `${path}/`
}

/** Paths have up to 4,096 characters, of which `startsWith` compares one after another. */
function isBelow(path: string, directory: string): boolean {
  const prefix = prefixBelow(directory)
  return path.length > prefix.length && path.slice(0, prefix.length) === prefix
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

/**
 * The different keys of the path and of everything above it. Hundreds of long paths have one
 * truncated key, and are not even made: questions about such paths come in great numbers.
 */
function keysAbove(path: string): string[] {
  const keys = ["/"]
  let above = ""
  for (const name of path.split("/")) {
    if (name === "") continue
    above += `/${name}`
    const key = indexKey(above)
    keys.push(key)
    if (key.length < above.length) break
  }
  return keys
}

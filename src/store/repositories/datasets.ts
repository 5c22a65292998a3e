import { key } from "../fold.ts"
import { query } from "../queries/query.ts"
import type { DataRow, MoveRow, Viewer } from "../rows.ts"
import type { DataReads, DataWrites } from "../store.ts"
import { datasets } from "../tables/kinds.ts"
import { type Context, ResourceRows } from "./resource.ts"

const plannedMoves = query("plannedMoves")
const planMove = query("planMove")
const endMove = query("endMove")
const around = query("datasetsAround")
const visible = { all: query("visibleBetween", "all"), some: query("visibleBetween", "some") }

export class Datasets extends ResourceRows<DataRow> implements DataReads, DataWrites {
  constructor(context: Context) {
    super(context, datasets)
  }

  async overlapping(accessInfo: string): Promise<DataRow[]> {
    const found = await this.session.all(around, { above: upwards(accessInfo).map(key), ...below(accessInfo) })
    const ours = beneath(accessInfo)
    return found
      .map(datasets.toRow)
      .filter((row) => row.accessInfo === accessInfo || row.accessInfo.startsWith(ours) || accessInfo.startsWith(beneath(row.accessInfo)))
  }

  async visibleBelow(path: string, viewer: Viewer): Promise<boolean> {
    const prefix = beneath(path)
    const range = below(path)
    // Keys of long paths are cut, so that the range holds strangers too; then all of it is looked
    // through.
    const limit = key(prefix) === prefix ? 1 : 1_000_000
    const seen = viewer.everything ? visible.all : visible.some
    const found = await this.session.all(seen, { ...range, user_id: viewer.userId, groups: viewer.groupIds, now: this.clock.now(), limit })
    return found.some(([accessInfo]) => String(accessInfo).startsWith(prefix))
  }

  async moves(): Promise<MoveRow[]> {
    const found = await this.session.all(plannedMoves, {})
    return found.map(([dataId, from, to]) => ({ dataId: dataId as number, from: from as string, to: to as string }))
  }

  async planMove({ dataId, from, to }: MoveRow): Promise<boolean> {
    return (await this.session.run(planMove, { data_id: dataId, from_path: from, to_path: to })) > 0
  }

  async endMove(dataId: number): Promise<void> {
    await this.session.run(endMove, { data_id: dataId })
  }
}

/** What every path strictly below this one begins with. */
function beneath(path: string): string {
  return path.endsWith("/") ? path : `${path}/`
}

/**
 * The keys of what lies below a path, the second excluded. `0` comes after `/`. A key that was cut
 * is met exactly.
 */
function below(path: string): { from: string; until: string } {
  const prefix = beneath(path)
  const from = key(prefix)
  return from === prefix ? { from, until: `${prefix.slice(0, -1)}0` } : { from, until: `${from}\u0001` }
}

/** The path itself and everything above it. */
function upwards(path: string): string[] {
  const names = path.split("/").filter((name) => name !== "")
  return ["/", ...names.map((_, i) => `/${names.slice(0, i + 1).join("/")}`)]
}

import type { ListArgs, ListShape } from "../queries/lists.ts"
import type { IndexSlice } from "../queries/visibility.ts"
import type { Viewer } from "../rows.ts"

/** A list as a union of slices, and the counters that yield its total. */
export interface ListPlan {
  slices: readonly IndexSlice[]
  /** The person of the slices, if they depend on one. */
  user: number | undefined
  groups: readonly number[]
  /** Keys of counters whose sum counts each row once: `minus` removes what `plus` counts twice. */
  plus: readonly string[]
  minus: readonly string[]
  /** IDs outside of the slices, in descending order: rows that the viewer sees by grants alone. */
  granted: readonly number[]
}

/** A row that the viewer sees by a grant alone, and its owner. */
export interface GrantOnlyRow {
  id: number
  userId: number
}

/** Rows visible by grants alone are neither public nor the viewer's own. */
export function addGrantOnlyRows(plan: ListPlan, granted: readonly GrantOnlyRow[], args: ListArgs): ListPlan {
  const owner = args["=user_id"]
  if (args["=is_published"] === true || granted.length === 0) return plan
  return { ...plan, granted: granted.filter(({ userId }) => owner === undefined || userId === owner).map(({ id }) => id) }
}

/** With more groups, a list is scanned instead of merged. */
const maxMergedGroups = 64

/** Undefined if a condition has no counter. */
export function planList(shape: ListShape, args: ListArgs, viewer: Viewer): ListPlan | undefined {
  if (shape.ids || shape.words || shape.member) return undefined
  const where = new Set(shape.where ?? [])
  const owner = where.delete("user_id") ? (args["=user_id"] as number) : undefined
  const published = where.delete("is_published") ? args["=is_published"] === true : undefined
  if (where.size > 0) return undefined
  if (shape.table === "runs") return shape.subset === "ended" ? ofRuns(viewer, owner) : undefined
  if (shape.table === "users" || shape.table === "groups" || shape.table === "grants" || shape.subset !== "live") return undefined
  return ofResources(shape.table, viewer, { owner, published })
}

function ofRuns(viewer: Viewer, owner: number | undefined): ListPlan | undefined {
  const rest = { groups: [], minus: [], granted: [] }
  if (owner === undefined && viewer.seesAll) return { ...rest, user: undefined, slices: ["ended"], plus: ["runs ended"] }
  if (owner === undefined) {
    const user = viewer.userId
    return { ...rest, user, slices: ["endedOf", "endedOwned"], plus: [`runs ended ${user}`, `runs owned ${user}`] }
  }
  if (!viewer.seesAll && owner !== viewer.userId) return undefined
  return { ...rest, user: owner, slices: ["endedOf"], plus: [`runs ended ${owner}`] }
}

interface Wanted {
  owner: number | undefined
  published: boolean | undefined
}

function ofResources(table: string, viewer: Viewer, { owner, published }: Wanted): ListPlan | undefined {
  const isStranger = owner !== undefined && owner !== viewer.userId && !viewer.seesAll
  const groups = table === "projects" && !viewer.seesAll && published !== true ? [...new Set(viewer.groupIds)] : []
  if (groups.length > (isStranger ? 0 : maxMergedGroups)) return undefined
  const user = owner ?? (viewer.seesAll ? undefined : viewer.userId)
  const parts: Pair[] = []
  if (published !== false) parts.push(owner === undefined ? ["public", `${table} public`] : ["publicOf", `${table} public ${owner}`])
  if (published !== true && !isStranger)
    parts.push(user === undefined ? ["private", `${table} private`] : ["privateOf", `${table} private ${user}`])
  const slices = parts.map(([slice]) => slice)
  const plus = parts.map(([, key]) => key)
  if (owner === undefined && groups.length > 0) {
    const ofGroups = groups.map((group) => `projects group ${group}`)
    const own = ofGroups.map((key) => `${key} ${viewer.userId}`)
    return { slices: [...slices, "group"], user, groups, plus: [...plus, ...ofGroups], minus: own, granted: [] }
  }
  return { slices: whole(slices), user, groups: [], plus, minus: [], granted: [] }
}

/** The public and the private half of a set are together one slice with its own index. */
function whole(slices: readonly IndexSlice[]): readonly IndexSlice[] {
  if (slices.includes("public") && slices.includes("private")) return ["live"]
  if (slices.includes("publicOf") && slices.includes("privateOf")) return ["liveOf"]
  return slices
}

type Pair = [slice: IndexSlice, key: string]

import type { GrantRow, Reads } from "#store"
import type { Caller } from "../caller.ts"
import { can, type Decision, type PolicyGrant, type Resource } from "./policy.ts"
import { toGrant } from "./resources.ts"
import type { Action } from "./rights.ts"

export type GrantSource = Pick<Reads, "grants">

/**
 * `can`, with the grants that are in force now. They are read only if one could change the
 * decision: never for owners, rarely for administrators.
 */
export async function decideWithGrants(reads: GrantSource, caller: Caller, action: Action, resource: Resource): Promise<Decision> {
  const [whole] = await loadGrants(reads, caller, { actions: [action], resources: [resource] })
  return can(caller, action, whole as Resource)
}

/**
 * Resources of one type with the caller's grants, if these actions depend on them. One query, or
 * none.
 */
export async function loadGrants(
  reads: GrantSource,
  caller: Caller,
  asked: { actions: readonly Action[]; resources: readonly Resource[] },
): Promise<Resource[]> {
  const open = asked.resources.filter(
    (resource) => isGranted(resource) && asked.actions.some((action) => canChangeDecision(caller, action, resource)),
  )
  const [first] = open
  if (!first) return [...asked.resources]
  const ids = open.map((resource) => resource.id as number)
  const given = Map.groupBy(
    await reads.grants.accessFor(first.type as GrantRow["resourceType"], ids, caller),
    ({ resourceId }) => resourceId,
  )
  return asked.resources.map((resource) => {
    const own = given.get(resource.id as number)
    return own ? { ...resource, grants: own.map(({ access }): PolicyGrant => ({ access, userId: caller.userId })) } : resource
  })
}

/**
 * Resources of one type with all grants in force, to notify everybody who sees them. One query.
 */
export async function loadAllGrants(
  reads: GrantSource,
  type: GrantRow["resourceType"],
  resources: readonly Resource[],
): Promise<Resource[]> {
  const rows = await reads.grants.onResources(
    type,
    resources.map(({ id }) => id as number),
  )
  const given = Map.groupBy(rows, ({ resourceId }) => resourceId)
  return resources.map((resource) => {
    const own = given.get(resource.id as number)
    return own ? { ...resource, grants: own.map(toGrant) } : resource
  })
}

function isGranted({ type, id }: Resource): boolean {
  return id !== undefined && (type === "image" || type === "data" || type === "project" || type === "run")
}

const every: readonly PolicyGrant[] = [{ access: "read" }, { access: "use" }, { access: "write" }]

/** A grant never takes a right away. */
function canChangeDecision(caller: Caller, action: Action, resource: Resource): boolean {
  const answer = can(caller, action, resource)
  return answer !== "yes" && answer !== can(caller, action, { ...resource, grants: every })
}

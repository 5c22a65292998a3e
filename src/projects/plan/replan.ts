import { decideWithGrants, homePath, impersonate, projectResource } from "#access"
import type { Reason } from "#contract"
import type { Clock } from "#kit"
import type { ReplanResult } from "#runs"
import type { Reads, RunRow } from "#store"
import { planRun } from "./run-plan.ts"

interface ReplanContext {
  clock: Clock
  internetGroups: readonly string[]
}

/**
 * Plans an existing run again by the rights that hold now. A queued run's project is planned as if
 * it started now, unless the run is a repeat. Later only the rights of the existing plan are
 * checked. A right that was lost ends the run; the reason names only what its starter may know.
 */
export async function replanRun({ clock, internetGroups }: ReplanContext, source: Reads, run: RunRow): Promise<ReplanResult> {
  const reads = source.memoized()
  const { spec, userName, projectId } = run
  const starter = await impersonate(reads, await reads.users.get(run.userId), clock.now())
  if (!starter) return accessWithdrawn(`${userName} was disabled or deleted`)
  const project = await reads.projects.part(projectId)
  if (!project || (await decideWithGrants(reads, starter, "project:start", projectResource(project))) !== "yes")
    return accessWithdrawn(`The project ${projectId} was deleted, or ${userName} may not start it`)
  const isFixed = run.state !== "queued" || spec.isRepeat === true
  const from = isFixed ? { existing: spec } : { expectsHome: spec.mounts.some(({ source }) => source === homePath(userName)) }
  const { plan, refusal } = await planRun(reads, { starter, project, internetGroups, ...from })
  return refusal ? accessWithdrawn(refusal.msg) : { plan: { ...plan, secret: spec.secret } }
}

function accessWithdrawn(why: string): { refusal: Reason } {
  return { refusal: { code: "access_withdrawn", msg: `${why}. The right ended after the run was asked for` } }
}

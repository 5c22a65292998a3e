import { decideWithGrants, homePath, impersonate, projectResource } from "#access"
import type { Reason } from "#contract"
import type { Clock } from "#kit"
import type { ReplanResult } from "#runs"
import type { Reads, RunRow } from "#store"
import { planRun } from "./run-plan.ts"

/**
 * A run's plan by the rights of now. While it waits its project is planned again, as a start would
 * now, but for a repetition; afterwards the plan is kept and judged. What is no longer allowed is
 * why the run must end, in words of what its starter may know.
 */
export function replanRun({ clock, internetGroups }: { clock: Clock; internetGroups: readonly string[] }) {
  return async (reads: Reads, run: RunRow): Promise<ReplanResult> => {
    const { spec, userName, projectId } = run
    const starter = await impersonate(reads, await reads.users.get(run.userId), clock.now())
    if (!starter) return withdrawn(`${userName} was disabled or deleted`)
    const project = await reads.projects.get(projectId)
    if (!project || (await decideWithGrants(reads, starter, "project:start", projectResource(project))) !== "yes")
      return withdrawn(`The project ${projectId} was deleted, or ${userName} may not start it`)
    const isKept = run.state !== "queued" || spec.isRepeat === true
    const had = isKept ? { kept: spec } : { expectsHome: spec.mounts.some(({ source }) => source === homePath(userName)) }
    const { plan, refusal } = await planRun(reads, { starter, project, internetGroups, ...had })
    return refusal ? withdrawn(refusal.msg) : { plan: { ...plan, secret: spec.secret } }
  }
}

function withdrawn(why: string): { refusal: Reason } {
  return { refusal: { code: "access_withdrawn", msg: `${why}. The right ended after the run was asked for` } }
}

import { type Caller, isAllowed, projectResource } from "#access"
import type { ProjectRow, Reads } from "#store"
import type { ProjectsContext, Requester } from "../context.ts"
import { endProjectTrust } from "../trust.ts"
import { codeLimits, projectDirectories, releaseDirectory } from "./directories.ts"

/**
 * Whether a change publishes a project, to everybody or to a group, and its caller may release it.
 * Then its code is released first, so that nobody starts the project before the code is there. A
 * missing project takes the same queries as a hidden one.
 */
export async function needsRelease(
  reads: Pick<Reads, "grants">,
  caller: Caller,
  { stored, isPublic, groupName }: { stored: ProjectRow | undefined; isPublic: boolean | undefined; groupName: string | undefined },
): Promise<boolean> {
  const canRelease = await isAllowed(reads, caller, "project:release", stored && projectResource(stored))
  if (!stored || !canRelease) return false
  return (isPublic === true && !stored.isPublic) || (Boolean(groupName) && groupName !== stored.groupName)
}

/**
 * Copies the owner's code as it is now for everybody who will start the project. No administrator
 * has looked at new code, so the trust ends before anybody can get it, even if the code then
 * exceeds a limit (`conflict`). An administrator who marks the project during the copy looked at
 * the earlier code, so the trust ends again once the new code is there. Returns the project as it
 * was when the copy began.
 */
export async function releaseCode(
  context: Pick<ProjectsContext, "store" | "tree" | "events">,
  requester: Requester,
  { stored, signal }: { stored: ProjectRow; signal: AbortSignal },
): Promise<ProjectRow> {
  const { tree } = context
  const project = (await endTrustInRelease(context, requester, stored.id)) ?? stored
  const { code } = projectDirectories(project.userName, project.id)
  await tree.ensureDirectory(code)
  await tree.copyTree(code, releaseDirectory(project.id), { ...codeLimits, signal, account: project.userName })
  await endTrustInRelease(context, requester, project.id)
  return project
}

/** The project without its mark, or undefined if there is no mark that this requester ends. */
async function endTrustInRelease(
  context: Pick<ProjectsContext, "store" | "events">,
  requester: Requester,
  projectId: number,
): Promise<ProjectRow | undefined> {
  if (requester.caller.isAdmin) return undefined
  return context.store.change(async (tx) => {
    const was = await tx.projects.get(projectId)
    return was?.isTrusted ? endProjectTrust(context, tx, requester, { was, by: "released new code" }) : undefined
  })
}

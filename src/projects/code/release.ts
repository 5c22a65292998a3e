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
 * exceeds a limit. Throws `conflict` in that case.
 */
export async function releaseCode(
  context: Pick<ProjectsContext, "store" | "tree" | "events">,
  requester: Requester,
  { stored, signal }: { stored: ProjectRow; signal: AbortSignal },
): Promise<ProjectRow> {
  const { store, tree } = context
  const ends = stored.isTrusted && !requester.caller.isAdmin
  const project = ends
    ? await store.change((tx) => endProjectTrust(context, tx, requester, { was: stored, by: "released new code" }))
    : stored
  const { code } = projectDirectories(project.userName, project.id)
  await tree.ensureDirectory(code)
  await tree.copyTree(code, releaseDirectory(project.id), { ...codeLimits, signal, account: project.userName })
  return project
}

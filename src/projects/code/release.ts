import type { ProjectRow } from "#store"
import type { ProjectsContext, Requester } from "../context.ts"
import { endProjectTrust } from "../trust.ts"
import { maxCode, projectDirectories, releaseDirectory } from "./directories.ts"

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
  await tree.copyTree(code, releaseDirectory(project.id), { ...maxCode, signal, account: project.userName })
  return project
}

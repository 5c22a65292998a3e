import { homePath } from "#access"
import type { ProjectsContext } from "./context.ts"

/**
 * Makes the home of a person whose account `work` creates. If it creates none, a home that was made
 * for it is removed.
 */
export async function withNewHome<T>(
  { tree, store }: Pick<ProjectsContext, "tree" | "store">,
  userName: string,
  work: () => Promise<T>,
): Promise<T> {
  const home = homePath(userName)
  const isNew = await tree.makeNewDirectory(home)
  if (!isNew) await tree.ensureDirectory(home)
  try {
    return await work()
  } catch (error) {
    // Somebody else may have created the account meanwhile.
    if (isNew && (await store.users.byName(userName)) === undefined) await tree.removeEmptyDirectory(home)
    throw error
  }
}

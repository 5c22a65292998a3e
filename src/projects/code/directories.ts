import { homePath } from "#access"
import type { CopyTreeOptions, FileTree } from "#files"

/** The limits of one copy of a project's code. */
export const codeLimits = { maxBytes: 1024 ** 3, maxEntries: 50_000 } as const

/** The directory in a person's home for all their files of a project. */
export function projectDirectory(userName: string, projectId: number): string {
  return `${homePath(userName)}/projects/${projectId}`
}

/** A person's own directories for a project. */
export function projectDirectories(userName: string, projectId: number) {
  const base = projectDirectory(userName, projectId)
  return { code: `${base}/code`, model: `${base}/model`, user: `${base}/user` }
}

/**
 * The code that the owner released. It lies outside of all homes, so that it stays as it is,
 * whoever owns the project later.
 */
export function releaseDirectory(projectId: number): string {
  return `/projects/${projectId}/release`
}

export type CodeCopyOptions = Pick<CopyTreeOptions, "signal" | "onProgress" | "account">

/**
 * Copies code if there is any. Several processes may do so at once: the first copy stays, and the
 * others are discarded.
 */
export async function copyCodeIfMissing(
  tree: FileTree,
  { from, to }: { from: string; to: string },
  options: CodeCopyOptions,
): Promise<void> {
  if (await tree.exists(from)) await tree.copyTree(from, to, { ...codeLimits, ...options, replace: false })
}

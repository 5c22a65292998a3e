import { homeOf } from "#access"
import type { Tree } from "#files"
import type { ProjectRow } from "#store"

/** What a copy of a project's code may hold at most. */
const limits = { maxBytes: 1024 ** 3, maxEntries: 50_000 } as const

/** Somebody's own directories for a project. */
export function projectDirectories(userName: string, projectId: number) {
  const base = `${homeOf(userName)}/projects/${projectId}`
  return { code: `${base}/code`, model: `${base}/model`, user: `${base}/user` }
}

/** What the owner released: outside of all homes, so that it stays as it is, whoever owns the project later. */
function releaseOf(projectId: number): string {
  return `/projects/${projectId}/release`
}

/** Takes the owner's code as it is now for those who will start the project. Refuses with `conflict` what is too much. */
export async function release(tree: Tree, project: Pick<ProjectRow, "id" | "userName">, signal?: AbortSignal): Promise<void> {
  const { code } = projectDirectories(project.userName, project.id)
  await tree.ensureDirectory(code)
  await tree.copyTree(code, releaseOf(project.id), { ...limits, ...(signal ? { signal } : {}) })
}

/** Directories that are being made now: a second start of the same waits instead of making them again. */
const beingMade = new Map<string, Promise<void>>()

/** Makes a starter's directories for a project; what is there stays. Code that is not there yet begins as what the owner released. */
export async function makeDirectories(tree: Tree, userName: string, project: Pick<ProjectRow, "id" | "userName">): Promise<void> {
  const own = projectDirectories(userName, project.id)
  if (userName !== project.userName) await once(own.code, () => begin(tree, releaseOf(project.id), own.code))
  for (const path of [own.code, own.model, own.user]) await tree.ensureDirectory(path)
}

/** The code of a copy begins as what the copier could start: their own code, or what the owner released. */
export async function copyCode(tree: Tree, userName: string, projects: { from: ProjectRow; to: ProjectRow }): Promise<void> {
  const { from, to } = projects
  const source = userName === from.userName ? projectDirectories(userName, from.id).code : releaseOf(from.id)
  await begin(tree, source, projectDirectories(userName, to.id).code)
}

async function begin(tree: Tree, from: string, to: string): Promise<void> {
  if ((await tree.exists(to)) || !(await tree.exists(from))) return
  await tree.copyTree(from, to, limits)
}

async function once(path: string, work: () => Promise<void>): Promise<void> {
  const making = beingMade.get(path) ?? work().finally(() => beingMade.delete(path))
  beingMade.set(path, making)
  await making
}

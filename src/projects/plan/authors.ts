import { createHash } from "node:crypto"
import type { Caller } from "#access"
import type { DataRow, DatasetWriter, GrantRow, ImageRow, ProjectRow, Reads } from "#store"

/** The name for the authors of a run that only its starter decides. */
const own = "own"

interface Parts {
  starter: Pick<Caller, "userId">
  project: ProjectRow
  /** Undefined if it does not exist. */
  image: ImageRow | undefined
  data: readonly DataRow[]
}

/**
 * A name for the set of people who decide what the pages of a run do: `own` if that is its starter
 * alone. Runs of one person share a browser origin only if these names are equal, so every other
 * name holds the project's ID too.
 *
 * A project of somebody else always counts as theirs. An administrator's image or dataset does not:
 * whoever starts containers on this machine trusts its administrators already. Everybody who may
 * write to a part counts, by a grant or because a dataset's directory lies in their home. So does
 * everybody who ever could write to a dataset: they may have left a page in it.
 */
export async function authorsOf(
  reads: Pick<Reads, "users" | "grants" | "data">,
  { starter, project, image, data }: Parts,
): Promise<string> {
  const candidates = new Set([project.writtenBy])
  const authors = new Set<string>()
  if (project.userId !== starter.userId) authors.add(`u${project.userId}`)
  if (!image) authors.add("unknown")
  else if (!image.isTrusted) candidates.add(image.userId).add(image.writtenBy)
  for (const { userId, accessInfo } of data) candidates.add(userId).add((await homeOwner(reads, accessInfo)) ?? userId)
  for (const { userId, groupId } of await datasetWriters(reads, data)) {
    if (groupId === 0) candidates.add(userId)
    else authors.add(`g${groupId}`)
  }
  candidates.delete(starter.userId)
  for (const id of await reads.users.adminsAmong([...candidates])) candidates.delete(id)
  for (const id of candidates) authors.add(`u${id}`)
  for (const grantee of await writeGranteesOf(reads, { project, image })) authors.add(grantee)
  authors.delete(`u${starter.userId}`)
  return authors.size === 0 ? own : nameOf(project.id, [...authors].sort())
}

/** The authors of a repeated run: those of the earlier run, and those that its parts have now. */
export function mergeAuthors(projectId: number, before: string | undefined, now: string): string {
  if (before === own || before === now) return now
  return now === own && before !== undefined ? before : nameOf(projectId, [before ?? "unknown", now])
}

function nameOf(projectId: number, authors: readonly string[]): string {
  return `${projectId}:${createHash("sha256").update(authors.join(" ")).digest("hex").slice(0, 32)}`
}

/** The owner of the home that holds a directory. They can write to it, whoever owns the dataset. */
async function homeOwner({ users }: Pick<Reads, "users">, accessInfo: string): Promise<number | undefined> {
  const [, name] = /^\/users\/([^/]+)/.exec(accessInfo) ?? []
  return name === undefined ? undefined : (await users.byName(name))?.id
}

/** Everybody who ever could write to these datasets, or to another one in the same place. */
async function datasetWriters({ data: reads }: Pick<Reads, "data">, data: Parts["data"]): Promise<Omit<DatasetWriter, "dataId">[]> {
  const own = await reads.writers(data.map(({ id }) => id))
  return [...own, ...(await reads.writersAround(data.map(({ accessInfo }) => accessInfo)))]
}

async function writeGranteesOf({ grants }: Pick<Reads, "grants">, { project, image }: Pick<Parts, "project" | "image">): Promise<string[]> {
  const found = await Promise.all([grants.onResources("project", [project.id]), image ? grants.onResources("image", [image.id]) : []])
  const writers = found.flat().filter(({ access }: GrantRow) => access === "write")
  return writers.map(({ userId, groupId }) => (userId === 0 ? `g${groupId}` : `u${userId}`))
}

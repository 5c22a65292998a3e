import { createHash } from "node:crypto"
import type { Caller } from "#access"
import type { DataRow, GrantRow, ImageRow, ProjectRow, Reads } from "#store"

/** The authors of a run that its starter alone decides. */
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
 * write to a part counts, by a grant or because a dataset's directory lies in their home.
 */
export async function authorsOf(reads: Pick<Reads, "users" | "grants">, { starter, project, image, data }: Parts): Promise<string> {
  const people = new Set([project.writtenBy])
  const certain = new Set<string>()
  if (project.userId !== starter.userId) certain.add(`u${project.userId}`)
  if (!image) certain.add("unknown")
  else if (!image.isTrusted) people.add(image.userId).add(image.writtenBy)
  for (const { userId, accessInfo } of data) people.add(userId).add((await homeHolder(reads, accessInfo)) ?? userId)
  people.delete(starter.userId)
  for (const id of people) if (!(await isAdmin(reads, id))) certain.add(`u${id}`)
  for (const grantee of await writersOf(reads, { project, image, data })) certain.add(grantee)
  certain.delete(`u${starter.userId}`)
  return certain.size === 0 ? own : nameOf(project.id, [...certain].sort())
}

/** The authors of a run that is started again as it was, with what its parts are now. */
export function mergeAuthors(projectId: number, had: string | undefined, now: string): string {
  if (had === own || had === now) return now
  return now === own && had !== undefined ? had : nameOf(projectId, [had ?? "unknown", now])
}

function nameOf(projectId: number, authors: readonly string[]): string {
  return `${projectId}:${createHash("sha256").update(authors.join(" ")).digest("hex").slice(0, 32)}`
}

/** In whose home a directory lies: that person writes there, whoever the dataset belongs to. */
async function homeHolder({ users }: Pick<Reads, "users">, accessInfo: string): Promise<number | undefined> {
  const [, name] = /^\/users\/([^/]+)/.exec(accessInfo) ?? []
  return name === undefined ? undefined : (await users.byName(name))?.id
}

async function isAdmin({ users }: Pick<Reads, "users">, id: number): Promise<boolean> {
  return (await users.get(id))?.isAdmin === true
}

async function writersOf({ grants }: Pick<Reads, "grants">, { project, image, data }: Omit<Parts, "starter">): Promise<string[]> {
  const found = await Promise.all([
    grants.of("project", [project.id]),
    image ? grants.of("image", [image.id]) : [],
    data.length > 0
      ? grants.of(
          "data",
          data.map(({ id }) => id),
        )
      : [],
  ])
  const writers = found.flat().filter(({ access }: GrantRow) => access === "write")
  return writers.map(({ userId, groupId }) => (userId === 0 ? `g${groupId}` : `u${userId}`))
}

import type { Caller } from "#access"
import type { ImageRow, ProjectRow, Reads } from "#store"
import { type Answered, isTrusted } from "../trust.ts"

interface Asked {
  starter: Caller
  project: ProjectRow
  /** Undefined where it is not there. */
  image: ImageRow | undefined
}

/**
 * Why a run does not hold its starter's home, as a sentence for them; undefined when it does. A
 * stranger's image never holds somebody's home: project and image must each be the starter's own,
 * as they themselves or an administrator last wrote it, or be what administrators vouch for.
 * Whoever may write to a resource by a grant changes what runs there, but not what runs in its
 * owner's home.
 */
export async function homeMountRefusal(reads: Pick<Reads, "users">, { starter, project, image }: Asked): Promise<string | undefined> {
  if (!image) return "there is no image"
  return (await withheldBy(reads, starter, "project", project)) ?? withheldBy(reads, starter, "image", image)
}

async function withheldBy(
  reads: Pick<Reads, "users">,
  starter: Caller,
  what: "project" | "image",
  part: Answered & { userName: string },
): Promise<string | undefined> {
  if (part.isTrusted) return undefined
  if (part.userId !== starter.userId) {
    return (await isTrusted(reads, part)) ? undefined : `the ${what} is ${part.userName}'s, and no administrator trusts it`
  }
  if (part.writtenBy === starter.userId) return undefined
  const writer = await reads.users.get(part.writtenBy)
  return writer?.isAdmin ? undefined : `${writer?.userName ?? "somebody else"} changed what the ${what} runs`
}

/** What the owner of a project is warned of, who expects their home in it. */
export function homeMountWarning(starter: Caller, project: ProjectRow, withheld: string | undefined): string | undefined {
  if (withheld === undefined || project.userId !== starter.userId) return undefined
  return `Your home is not in this run, but a directory of the project's own: ${withheld}`
}

import type { Caller } from "#access"
import type { ImageRow, ProjectRow, Reads } from "#store"
import { type Authorship, isTrusted } from "../trust.ts"

interface HomeRequest {
  starter: Caller
  project: ProjectRow
  /** Undefined if it does not exist. */
  image: ImageRow | undefined
}

/**
 * The reason why a run does not mount its starter's home, as a sentence for them, or undefined if
 * it does. An image of somebody else never reads a person's home: project and image must each be
 * the starter's own, as they or an administrator last wrote it, or be trusted by administrators. A
 * person with a grant to write may change what runs, but not what runs in its owner's home.
 */
export async function homeMountRefusal(reads: Pick<Reads, "users">, { starter, project, image }: HomeRequest): Promise<string | undefined> {
  if (!image) return "there is no image"
  return (await refusalBecauseOf(reads, starter, "project", project)) ?? refusalBecauseOf(reads, starter, "image", image)
}

async function refusalBecauseOf(
  reads: Pick<Reads, "users">,
  starter: Caller,
  type: "project" | "image",
  part: Authorship & { userName: string },
): Promise<string | undefined> {
  if (part.isTrusted) return undefined
  if (part.userId !== starter.userId) {
    return (await isTrusted(reads, part)) ? undefined : `the ${type} is ${part.userName}'s, and no administrator trusts it`
  }
  if (part.writtenBy === starter.userId) return undefined
  const writer = await reads.users.get(part.writtenBy)
  return writer?.isAdmin ? undefined : `${writer?.userName ?? "somebody else"} changed what the ${type} runs`
}

/** The warning for a project's owner, who expects their home in the run. */
export function homeMountWarning(starter: Caller, project: ProjectRow, refusal: string | undefined): string | undefined {
  if (refusal === undefined || project.userId !== starter.userId) return undefined
  return `Your home is not in this run, but a directory of the project's own: ${refusal}`
}

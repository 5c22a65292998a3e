import type { Caller } from "#access"
import type { ImageRow, ProjectRow, Reads } from "#store"

interface Asked {
  starter: Caller
  project: ProjectRow
  /** Undefined where it is not there. */
  image: ImageRow | undefined
}

/**
 * Why a run does not hold its starter's home, as a sentence for them; undefined when it does. A stranger's image never holds somebody's home: only one's own project with one's own
 * image, each as oneself or an administrator last wrote it, or what an administrator trusts. Whoever may write to a thing by a grant changes what runs there, but not what
 * runs in its owner's home.
 */
export async function withheldHome(reads: Pick<Reads, "users">, { starter, project, image }: Asked): Promise<string | undefined> {
  if (!image) return "there is no image"
  if (project.isTrusted && image.isTrusted) return undefined
  const stranger = [project, image].find((each) => each.userId !== starter.userId)
  if (stranger)
    return `the ${stranger === project ? "project" : "image"} is ${stranger.userName}'s, and no administrator trusts both project and image`
  for (const [what, { writtenBy }] of [
    ["project", project],
    ["image", image],
  ] as const) {
    const writer = writtenBy === starter.userId ? starter : await reads.users.get(writtenBy)
    if (writer !== starter && writer?.isAdmin !== true)
      return `${writer?.userName ?? "somebody else"} was the last to change what the ${what} runs`
  }
  return undefined
}

/** What the owner of a project is warned of, who expects their home in it. */
export function homeWarning(starter: Caller, project: ProjectRow, withheld: string | undefined): string | undefined {
  if (withheld === undefined || project.userId !== starter.userId) return undefined
  return `Your home is not in this run, but a directory of the project's own: ${withheld}`
}

import type { Group } from "#contract"

/** The fields of a group that administrators write. Members are lines. */
export interface GroupDraft {
  Comment: string
  Members: string
}

export function groupDraftOf({ Comment, Members }: Group): GroupDraft {
  return { Comment, Members: Members.join("\n") }
}

/** The body of a POST or PUT with these fields. People write names with commas or spaces, too. */
export function groupBody({ Members, ...fields }: Partial<GroupDraft>): object {
  return { ...fields, ...(Members === undefined ? {} : { Members: membersOf(Members) }) }
}

function membersOf(text: string): string[] {
  return [...new Set(text.split(/[\s,;]+/).filter((name) => name !== ""))]
}

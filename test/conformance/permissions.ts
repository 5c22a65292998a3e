import { type Relation, type Right, rights } from "#access"

const columns: readonly Relation[] = ["owner", "write", "use", "read", "projectOwner", "administrator", "anyone"]
const heads = [
  "owner",
  "grant `write`",
  "grant `use`, group, published",
  "grant `read`",
  "owner of the run's project",
  "administrator",
  "anyone signed in",
]

/** `docs/explanation/permissions.md`: the code's own table of rights. */
export function permissionsPage(made: string): string {
  const sections = Object.entries(rights).map(([type, verbs]) => {
    const rows = Object.entries(verbs as Record<string, Right>).map(
      ([verb, right]) =>
        `| \`${type}:${verb}\` | ${right.scope} | ${columns.map((column) => (right.who.includes(column) ? "yes" : "")).join(" | ")} |`,
    )
    return `## ${type}\n\n| action | scope | ${heads.join(" | ")} |\n|---|---|${heads.map(() => "---").join("|")}|\n${rows.join("\n")}\n`
  })
  return `# Who may do what

${made}

One pure function decides for the HTTP API, the gateway, the file server and the mounts alike, over the one table below. What somebody is to a thing decides; being several things at once gives the sum.

- What a caller may not see does not exist for them: 404, and no list or count shows it. What they see but may not do is 403.
- Publishing a thing, or giving a project a group, is a grant of \`use\` to everyone who is signed in, or to the group's members.
- A token's scope bounds it: one with \`read\` alone may only do what says \`read\` below; one with \`run:<ID>\` opens that run's address and nothing else.
- A dataset's \`readFiles\` and \`writeFiles\` are what WebDAV and mounts ask: who may only read gets a read-only mount.
- A run belongs to whoever started it; only grants on the run itself count. The owner of its project sees that it runs, no more. An administrator sees and stops it, but neither opens it nor reads its output, unless they grant themselves that, which the audit shows.

${sections.join("\n")}`
}

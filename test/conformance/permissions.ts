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
export function permissionsPage(notice: string): string {
  const sections = Object.entries(rights).map(([type, verbs]) => {
    const rows = Object.entries(verbs as Record<string, Right>).map(
      ([verb, right]) =>
        `| \`${type}:${verb}\` | ${right.scope} | ${columns.map((column) => (right.who.includes(column) ? "yes" : "")).join(" | ")} |`,
    )
    return `## ${type}\n\n| action | scope | ${heads.join(" | ")} |\n|---|---|${heads.map(() => "---").join("|")}|\n${rows.join("\n")}\n`
  })
  return `# Permissions

${notice}

One pure function decides every request to the HTTP API, the gateway and the file server, and every
mount, by the table below. A person's rights follow from their relations to the resource; several
relations add up.

- A resource that the caller may not see returns 404, and no list or count includes it. If the
  caller sees the resource but lacks the right to the action, the response is 403.
- Publishing a resource, or giving a project a group, is a grant of \`use\` to everyone who is
  signed in, or to the group's members.
- A token's scope limits it: with \`read\` alone it permits the actions with the scope \`read\`
  below; with \`run:<ID>\` it opens that run's address and nothing else.
- A dataset's \`readFiles\` and \`writeFiles\` apply to WebDAV and to mounts: people with
  \`readFiles\` alone get a read-only mount.
- A run belongs to the person who started it; only grants on the run itself count. The owner of its
  project sees only that it runs. An administrator sees and stops it, but can neither open it nor
  read its output without granting themselves that right, which the audit log shows.

${sections.join("\n")}`
}

import type { AuditSearch } from "./audit-search.ts"

/** The query of `/audit` for the filters of the page; local times become those of the API. */
export function auditQuery({ person, action, from, to, page = 1 }: AuditSearch) {
  return {
    page,
    pageSize: 50,
    ...(person ? { UserName: person } : {}),
    ...(action ? { Action: action } : {}),
    ...timeOf("from", from),
    ...timeOf("to", to),
  }
}

function timeOf<Name extends string>(name: Name, local: string | undefined): { [N in Name]?: string } {
  const time = local ? Date.parse(local) : Number.NaN
  return (Number.isNaN(time) ? {} : { [name]: new Date(time).toISOString() }) as { [N in Name]?: string }
}

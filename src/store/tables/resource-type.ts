/** What grants, events and the audit call the rows of a table. */
export type GrantableType = "image" | "data" | "project" | "run"

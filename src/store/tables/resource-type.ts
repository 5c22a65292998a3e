/** The name of a table's rows in grants, events and the audit. */
export type GrantableType = "image" | "data" | "project" | "run"

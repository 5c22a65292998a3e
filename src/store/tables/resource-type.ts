/** What grants, events and the audit call the rows of a table. */
export type ResourceType = "image" | "data" | "project" | "run"

import { generatedId, integer, json, nullableInteger, nullableText, oneOf, text } from "./column.ts"
import type { RowOf } from "./row-mapper.ts"
import { describeTable } from "./table.ts"

type JsonObject = Readonly<Record<string, unknown>>

/** Events for subscribers. */
export const journalTable = describeTable({
  name: "journal",
  fields: {
    id: generatedId(),
    at: integer("at"),
    event: text("event"),
    resourceType: text("thing_type"),
    resourceId: integer("thing_id"),
    /** The data for subscribers, or a list of it and of the fields that decide who receives it. */
    data: json<JsonObject | [JsonObject, JsonObject]>()("data"),
  },
})
export interface StoredEvent extends RowOf<typeof journalTable.fields> {}

export const auditTable = describeTable({
  name: "audit",
  fields: {
    id: generatedId(),
    at: integer("at"),
    actor: text("actor"),
    action: text("action"),
    resourceType: nullableText("thing_type"),
    resourceId: nullableInteger("thing_id"),
    outcome: oneOf<"done" | "refused">()("outcome"),
    address: text("address"),
    requestId: text("request_id"),
    count: integer("count"),
  },
})
export interface StoredAudit extends RowOf<typeof auditTable.fields> {}

import { flag, integer, text } from "./column.ts"
import type { RowOf } from "./row-mapper.ts"
import { describeTable } from "./table.ts"

const fields = {
  port: integer("port", { written: "once" }),
  userId: integer("user_id", { written: "once" }),
  /** As in the plan of every run that ever had it. */
  authors: text("authors", { written: "once" }),
  /** The project and the key of the run that had it last, or has it now. */
  projectId: integer("project_id"),
  runKey: text("run_key"),
  /** Whether the run before that one was of another project, or there was none. */
  isHandedOver: flag("is_handed_over"),
}

/** Ports of the apps host that runs have of their own. */
export const runPortsTable = describeTable({ name: "run_ports", fields, internal: { createdAt: integer("created_at") } })

/** A port of the apps host that belongs to one person, and to one set of authors, for ever. */
export interface RunPortRow extends RowOf<typeof fields> {}

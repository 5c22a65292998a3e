import { tables } from "../tables/index.ts"
import type { QueryBuilder } from "./query-builder.ts"
import { insertedValues, pickArguments } from "./rows.ts"
import { rowColumns } from "./select.ts"

interface RangeArgs {
  first: number
  last: number
}

type Args = Readonly<Record<string, unknown>>

/** Ports of runs. */
export const runPortQueries = {
  portsOfUser: ({ db }: QueryBuilder, args: RangeArgs & { user_id: number }) =>
    db
      .selectFrom("run_ports")
      .select(rowColumns("run_ports"))
      .where("user_id", "=", args.user_id)
      .where("port", ">=", args.first)
      .where("port", "<=", args.last)
      .orderBy("port"),

  assignedPorts: ({ db }: QueryBuilder, args: RangeArgs) =>
    db.selectFrom("run_ports").select("port").where("port", ">=", args.first).where("port", "<=", args.last).orderBy("port"),

  insertPort: ({ anyTable }: QueryBuilder, args: Args) =>
    anyTable
      .insertInto("run_ports")
      .values({ ...insertedValues("run_ports", args), created_at: args.created_at })
      .onConflict((conflict) => conflict.doNothing()),

  /** Changes nothing if the port belongs to another person or to other authors. */
  updatePort: ({ anyTable }: QueryBuilder, args: Args) =>
    anyTable
      .updateTable("run_ports")
      .set(pickArguments(args, tables.run_ports.updateColumns))
      .where("port", "=", args.port)
      .where("user_id", "=", args.user_id)
      .where("authors", "=", args.authors),
}

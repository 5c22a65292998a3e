import type { Build } from "./build.ts"

interface RangeArgs {
  first: number
  last: number
}

interface PortArgs {
  port: number
  user_id: number
  authors: string
  project_id: number
  run_key: string
  is_handed_over: number
}

/** Ports that runs have of their own. */
export const runPorts = {
  portsOfUser: ({ db }: Build, args: RangeArgs & { user_id: number }) =>
    db
      .selectFrom("run_ports")
      .select(["port", "user_id", "authors", "project_id", "run_key", "is_handed_over"])
      .where("user_id", "=", args.user_id)
      .where("port", ">=", args.first)
      .where("port", "<=", args.last)
      .orderBy("port"),

  portsTaken: ({ db }: Build, args: RangeArgs) =>
    db.selectFrom("run_ports").select("port").where("port", ">=", args.first).where("port", "<=", args.last).orderBy("port"),

  addPort: ({ db }: Build, args: PortArgs & { created_at: number }) =>
    db
      .insertInto("run_ports")
      .values({
        port: args.port,
        user_id: args.user_id,
        authors: args.authors,
        project_id: args.project_id,
        run_key: args.run_key,
        is_handed_over: args.is_handed_over,
        created_at: args.created_at,
      })
      .onConflict((conflict) => conflict.doNothing()),

  /** Changes nothing of a port that is somebody else's, or other authors'. */
  usePort: ({ db }: Build, args: PortArgs) =>
    db
      .updateTable("run_ports")
      .set({ project_id: args.project_id, run_key: args.run_key, is_handed_over: args.is_handed_over })
      .where("port", "=", args.port)
      .where("user_id", "=", args.user_id)
      .where("authors", "=", args.authors),
}

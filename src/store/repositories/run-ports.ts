import { query } from "../queries/query.ts"
import type { RunPortRow } from "../rows.ts"
import type { PortReads, PortWrites } from "../store.ts"
import { runPortsTable } from "../tables/run-ports.ts"
import type { RepositoryContext } from "./resource.ts"

const q = {
  ofUser: query("portsOfUser"),
  assigned: query("assignedPorts"),
  insert: query("insertPort"),
  update: query("updatePort"),
}

/** Ports of runs. No port is ever removed: browsers store data by port without a time limit. */
export class RunPortRepository implements PortReads, PortWrites {
  readonly #context: RepositoryContext

  constructor(context: RepositoryContext) {
    this.#context = context
  }

  async ofUser(userId: number, { first, last }: { first: number; last: number }): Promise<RunPortRow[]> {
    const rows = await this.#context.runner.all(q.ofUser, { user_id: userId, first, last })
    return rows.map(runPortsTable.toRow)
  }

  async assigned({ first, last }: { first: number; last: number }): Promise<number[]> {
    return (await this.#context.runner.all(q.assigned, { first, last })).map(([port]) => port as number)
  }

  async assign(row: RunPortRow): Promise<boolean> {
    const { runner, clock } = this.#context
    const columns = runPortsTable.toColumns(row)
    if ((await runner.run(q.insert, { ...columns, created_at: clock.now() })) > 0) return true
    return (await runner.run(q.update, columns)) > 0
  }
}

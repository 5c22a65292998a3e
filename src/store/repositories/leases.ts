import { query } from "../queries/query.ts"
import type { LeaseRow } from "../rows.ts"
import type { LeaseReads, LeaseWrites } from "../store.ts"
import { leasesTable } from "../tables/processes.ts"
import type { RepositoryContext } from "./resource.ts"

const q = { get: query("lease"), take: query("takeLease"), renew: query("renewLease"), release: query("releaseLease") }

/** Tasks that one of several processes has alone. */
export class LeaseRepository implements LeaseReads, LeaseWrites {
  readonly #context: RepositoryContext

  constructor(context: RepositoryContext) {
    this.#context = context
  }

  async get(name: string): Promise<LeaseRow | undefined> {
    const values = await this.#context.runner.first(q.get, { name })
    return values && leasesTable.toRow(values)
  }

  async take(name: string, { holder, address }: { holder: string; address: string }): Promise<number> {
    const values = await this.#context.runner.first(q.take, { name, holder, address })
    return Number(values?.[0])
  }

  async renew(name: string, token: number): Promise<boolean> {
    return (await this.#context.runner.run(q.renew, { name, token })) > 0
  }

  async release(name: string, token: number): Promise<void> {
    await this.#context.runner.run(q.release, { name, token })
  }
}

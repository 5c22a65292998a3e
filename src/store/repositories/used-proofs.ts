import { query } from "../queries/query.ts"
import type { ProofWrites } from "../store.ts"
import type { RepositoryContext } from "./resource.ts"

const q = { insert: query("insertUsedProof"), deleteExpired: query("deleteExpiredProofs") }

/** Each use removes this many expired ones at most, since all other changes wait. */
const maxRemoved = 100

/** One-time proofs that were used. */
export class UsedProofRepository implements ProofWrites {
  readonly #context: RepositoryContext

  constructor(context: RepositoryContext) {
    this.#context = context
  }

  async use({ id, endsAt }: { id: string; endsAt: number }): Promise<boolean> {
    const { runner, clock } = this.#context
    const now = clock.now()
    await runner.run(q.deleteExpired, { now, limit: maxRemoved })
    return endsAt > now && (await runner.run(q.insert, { id, endsAt })) > 0
  }
}

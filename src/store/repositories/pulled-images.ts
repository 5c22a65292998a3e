import { query } from "../queries/query.ts"
import type { PulledImageRow } from "../rows.ts"
import type { PulledImageReads, PulledImageWrites } from "../store.ts"
import { pulledImagesTable } from "../tables/pulled-images.ts"
import type { RepositoryContext } from "./resource.ts"

const q = {
  all: query("pulledImages"),
  known: query("pulledDigest"),
  record: query("recordPull"),
  use: query("recordImageUse"),
  forget: query("forgetPulledImage"),
}

/** Images that Quayside fetched. */
export class PulledImageRepository implements PulledImageReads, PulledImageWrites {
  readonly #context: RepositoryContext

  constructor(context: RepositoryContext) {
    this.#context = context
  }

  async all(): Promise<PulledImageRow[]> {
    return (await this.#context.runner.all(q.all, {})).map(pulledImagesTable.toRow)
  }

  async record({ reference, digest, isNew, owner }: Parameters<PulledImageWrites["record"]>[0]): Promise<boolean> {
    const { runner, clock } = this.#context
    if (!isNew && (await runner.first(q.known, { digest })) === undefined) return false
    await runner.run(q.record, { reference, digest, now: clock.now(), fetched_for: owner })
    return true
  }

  async recordUse(digest: string, at: number): Promise<void> {
    await this.#context.runner.run(q.use, { digest, now: at })
  }

  async forget(digest: string): Promise<void> {
    await this.#context.runner.run(q.forget, { digest })
  }
}

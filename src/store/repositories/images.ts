import { query } from "../queries/query.ts"
import type { ImageRow } from "../rows.ts"
import type { TrustedDigestReads, TrustedDigestWrites } from "../store.ts"
import { imagesTable } from "../tables/images.ts"
import { type RepositoryContext, ResourceRepository } from "./resource.ts"

const q = {
  digest: query("trustedDigest"),
  record: query("recordTrustedDigest"),
  forget: query("forgetTrustedDigest"),
}

export class ImageRepository extends ResourceRepository<ImageRow> implements TrustedDigestReads, TrustedDigestWrites {
  constructor(context: RepositoryContext) {
    super(context, imagesTable)
  }

  async trustedDigest(id: number): Promise<string | undefined> {
    return (await this.runner.first(q.digest, { image_id: id }))?.[0] as string | undefined
  }

  async recordTrustedDigest(id: number, digest: string): Promise<void> {
    await this.runner.run(q.record, { image_id: id, digest })
  }

  async forgetTrustedDigest(id: number): Promise<void> {
    await this.runner.run(q.forget, { image_id: id })
  }
}

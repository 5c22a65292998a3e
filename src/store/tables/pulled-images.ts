import { integer, text } from "./column.ts"
import type { RowOf } from "./row-mapper.ts"
import { describeTable } from "./table.ts"

const fields = {
  /** The complete reference. */
  reference: text("reference", { written: "once" }),
  /** The engine's digest of the image. */
  digest: text("digest", { written: "once" }),
  fetchedAt: integer("fetched_at"),
  usedAt: integer("used_at"),
  /** The name of the person for whom it was fetched first; empty: nobody. */
  fetchedFor: text("fetched_for", { written: "once" }),
}

/** The images that Quayside fetched and that the engine had at the last comparison. */
export const pulledImagesTable = describeTable({ name: "pulled_images", fields })

export interface PulledImageRow extends RowOf<typeof fields> {}

import { silentLogger, systemClock } from "#kit"
import { openStore } from "#store"
import { imageRow } from "../samples.ts"

/**
 * Writes as fast as possible until it is killed or refused, and prints the ID of every acknowledged
 * change. The second argument is the owner.
 */
const store = await openStore({ url: process.argv[2] ?? "", logger: silentLogger, clock: systemClock })
const userId = Number(process.argv[3])

async function write(): Promise<never> {
  for (;;) {
    const id = await store.change(async (tx) => {
      const image = await tx.images.insert(imageRow(userId, { doc: "x".repeat(2000) }))
      await tx.journal({ event: "image.created", data: { ID: image.id }, resource: { type: "image", id: image.id } })
      await tx.audit({
        actor: "ann",
        action: "image.create",
        resource: { type: "image", id: image.id },
        outcome: "done",
        address: "",
        requestId: "",
      })
      return image.id
    })
    process.stdout.write(`${id}\n`)
  }
}
await Promise.all(Array.from({ length: 20 }, write)).catch(() => process.exit(1))

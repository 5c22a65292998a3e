import { silentLogger, systemClock } from "#kit"
import { openStore } from "#store"

/**
 * Opens the store at the URL in the first argument and prints its instance; runs until it is
 * killed.
 */
const store = await openStore({ url: process.argv[2] ?? "", logger: silentLogger, clock: systemClock })
process.stdout.write(`${store.instance}\n`)
setInterval(() => {}, 1000)

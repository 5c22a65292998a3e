import type { Engine } from "#engine"
import type { Files } from "#files"
import type { Store } from "#store"

/** The checks of `/readyz`: database, engine and file server. */
export function createReadiness({ store, engine, files }: { store: Store; engine: Engine; files: Promise<Files> }) {
  const checked = (check: Promise<unknown>) =>
    check.then(() => ({ ok: true, msg: "" })).catch((error: unknown) => ({ ok: false, msg: (error as Error).message }))
  return async () => {
    const [storeCheck, engineCheck, filesCheck] = await Promise.all([
      checked(store.check()),
      checked(engine.check(AbortSignal.timeout(5_000))),
      healthOf(files),
    ])
    return { store: storeCheck, engine: engineCheck, files: filesCheck }
  }
}

async function healthOf(files: Promise<Files>): Promise<{ ok: boolean; msg: string }> {
  const started = await Promise.race([files, Promise.resolve(undefined)])
  return started ? started.health() : { ok: false, msg: "The file server is starting" }
}

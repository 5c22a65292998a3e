import type { Readiness } from "#contract"
import type { Engine } from "#engine"
import type { Files } from "#files"
import { abortable, type Clock, deadline } from "#kit"
import type { Runs } from "#runs"
import type { Store } from "#store"
import type { WildcardCheck } from "../compose/wildcard.ts"

const checkMs = 5_000
/** So old may an answer be: anybody may ask, and the checks ask the engine and start programs. */
const maxAgeMs = 500

interface ReadinessParts {
  clock: Clock
  store: Pick<Store, "check">
  engine: Pick<Engine, "check" | "ping"> | undefined
  /** Whether this process has rights on the engine beyond seeing runs. Default true. */
  startsRuns?: boolean
  /** Undefined: this process has no files. */
  files: Promise<Files> | undefined
  runs: Pick<Runs, "checkSupervision"> | undefined
  apps: WildcardCheck | undefined
}

/**
 * The checks of `/readyz`. A part that this process does not have is well. However many ask, one
 * check runs at a time, and its answer is for all.
 */
export function createReadiness(parts: ReadinessParts): () => Promise<Readiness["checks"]> {
  const { clock } = parts
  const check = createChecks(parts)
  let last: { answer: Promise<Readiness["checks"]>; endedAt: number | undefined } | undefined
  return () => {
    const isCurrent = last && (last.endedAt === undefined || clock.monotonic() - last.endedAt < maxAgeMs)
    if (last && isCurrent) return last.answer
    const asked: typeof last = { answer: check(), endedAt: undefined }
    const end = () => {
      asked.endedAt = clock.monotonic()
    }
    asked.answer.then(end, end)
    last = asked
    return asked.answer
  }
}

function createChecks({ store, engine, startsRuns = true, files, runs, apps }: ReadinessParts): () => Promise<Readiness["checks"]> {
  const checked = (check: Promise<unknown> | undefined) =>
    (check ?? Promise.resolve())
      .then(() => ({ ok: true, msg: "" }))
      .catch((error: unknown) => ({ ok: false, msg: (error as Error).message }))
  return async () => {
    const [storeCheck, engineCheck, filesCheck, supervision, appsCheck] = await Promise.all([
      checked(inTime("The database's answer", store.check())),
      checked(engine?.[startsRuns ? "check" : "ping"](AbortSignal.timeout(checkMs))),
      files ? healthOf(files) : { ok: true, msg: "This process has no files" },
      runs &&
        inTime("The database's answer", runs.checkSupervision()).catch((error: unknown) => ({ ok: false, msg: (error as Error).message })),
      apps?.(),
    ])
    return {
      store: storeCheck,
      engine: engineCheck,
      files: filesCheck,
      ...(supervision && { supervision }),
      ...(appsCheck && { apps: appsCheck }),
    }
  }
}

/** A connection that was cut without a word would answer only when a query's time is over. */
async function inTime<T>(what: string, check: Promise<T>): Promise<T> {
  using signal = deadline(checkMs, what)
  return await abortable(check, signal)
}

async function healthOf(files: Promise<Files>): Promise<{ ok: boolean; msg: string }> {
  const started = await Promise.race([files, Promise.resolve(undefined)])
  return started ? started.health() : { ok: false, msg: "The file server is starting" }
}

import { bounds } from "#contract"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { stopWithReason } from "../lifecycle/ending.ts"
import { createReason } from "../lifecycle/reasons.ts"
import type { UsageMonitor } from "../limits/usage-monitor.ts"
import { type Bound, boundsOf, mibText, toleratedBytes } from "./bounds-of.ts"
import { DeletedGrowth } from "./deleted-growth.ts"
import { DeletedLimits } from "./deleted-limits.ts"
import { enclosingArea, type GrownArea, GrowthTracker } from "./growth-tracker.ts"
import { LayerGrowth } from "./layer-growth.ts"
import { reachesAny } from "./storage-areas.ts"
import type { DiskSpace, StorageCount, StorageMeter, StorageQuota } from "./storage-meter.ts"
import type { StorageQuotas } from "./storage-quotas.ts"

const { countEveryMs, quickCountEveryMs, warnPercents, layersAfterBytes } = bounds.storage
const mib = 2 ** 20
/** Fractions of a limit at which the runs get a warning. */
const warningShares = [warnPercents.value / 100, 0.9]
/**
 * Counting a person takes at most one part in so many of the time; more when the disk fills.
 */
const calmFraction = 20
const quickFraction = 4
/** Counts at a time beside which a first one, or one for another limit, begins. */
const maxFirstCounts = 8

interface Writer {
  run: RunRow
  /** Directories that the run may write to. */
  sources: readonly string[]
}

/**
 * Enforces storage limits and reserves space on the disk of people's files. It counts the files of
 * people whose runs may write, and sends warnings. Beyond a limit it ends the run that grows. When
 * the disk is nearly full, it ends the run that grew most.
 */
export class StorageEnforcer {
  readonly #ctx: RunsContext
  readonly #quotas: StorageQuotas
  readonly #meter: StorageMeter
  readonly #growth = new GrowthTracker()
  readonly #layers: LayerGrowth
  readonly #deleted: DeletedGrowth
  readonly #deletedLimits: DeletedLimits
  /** The highest fraction for which each run got a warning. */
  readonly #warned = new Map<number, number>()
  /** The most free space since everybody was counted. */
  #mostFree = 0
  readonly #counting = new Map<string, Promise<void>>()
  /** People whose count is not urgent. */
  readonly #uncounted = new Set<string>()

  constructor(ctx: RunsContext, parts: { quotas: StorageQuotas; meter: StorageMeter; usage: Pick<UsageMonitor, "layerOf"> }) {
    this.#ctx = ctx
    this.#layers = new LayerGrowth(ctx, parts.usage)
    this.#deleted = new DeletedGrowth(ctx)
    this.#quotas = parts.quotas
    this.#meter = parts.meter
    this.#deletedLimits = new DeletedLimits(ctx, {
      quotas: parts.quotas,
      count: (name) => this.#count(name),
      end: (run, msg) => this.#end(run, msg),
    })
  }

  /** Repeats `check` until Quayside closes. */
  async run(): Promise<void> {
    const { clock, closed, logger, settings } = this.#ctx
    const everybody = this.#countEverybody().catch((err: unknown) => closed.aborted || logger.warn({ err }, "setting quotas failed"))
    while (!closed.aborted) {
      await clock.sleep(settings.diskSpaceEveryMs, closed).catch(() => {})
      if (closed.aborted) break
      await this.check().catch(
        (err: unknown) => closed.aborted || logger.warn({ err }, "checking the free space for people's files failed"),
      )
    }
    await everybody
    await Promise.all(this.#counting.values())
  }

  /**
   * Counts each person once, one after another, so that the kernel enforces all limits, and on all
   * files: an earlier process may have ended before it had labelled them.
   */
  async #countEverybody(): Promise<void> {
    const { clock, closed } = this.#ctx
    if (!(await this.#meter.hasQuotas())) return
    for await (const name of this.#quotas.everybody()) {
      if (!this.#quotas.countOf(name)) await this.#count(name)
      const pauseMs = Math.max(100, calmFraction * (this.#quotas.countOf(name)?.tookMs ?? 0))
      await clock.sleep(pauseMs, closed).catch(() => {})
      if (closed.aborted) return
    }
  }

  /** Checks the disk once and starts the counts that are due. */
  async check(): Promise<void> {
    const space = await this.#meter.diskSpace()
    const isFilling = this.#trackFilling(space)
    const writers = this.#writers()
    for (const id of this.#warned.keys()) if (!this.#ctx.runCache.row(id)) this.#warned.delete(id)
    const owners = await this.#quotas.ownersOf([...new Set(writers.flatMap(({ sources }) => sources))])
    await this.#applyChanges(owners)
    const counts = [...owners].filter((name) => this.#isDue(name, isFilling)).map((name) => this.#count(name))
    for (const name of this.#quotas.drainUncounted()) this.#uncounted.add(name)
    this.#countUncounted()
    if (!space.isLow) {
      void this.#limitDeleted()
      return this.#layers.resetBaseline(this.#ctx.runCache.rows())
    }
    // This check does not wait for long counts.
    await Promise.race([Promise.all(counts), this.#ctx.clock.sleep(quickCountEveryMs.value, this.#ctx.closed).catch(() => {})])
    await this.#makeRoom()
  }

  /** Measures the deleted files that runs have open, now and then. Never rejects. */
  async #limitDeleted(): Promise<void> {
    const { closed, logger } = this.#ctx
    try {
      if (await this.#deleted.renewBaseline()) await this.#deletedLimits.check((key) => this.#deleted.bytesOf(key))
    } catch (err) {
      if (!closed.aborted) logger.warn({ err }, "limiting deleted files that runs have open failed")
    }
  }

  /** Changed limits and owners reach the kernel by a count. */
  async #applyChanges(owners: ReadonlySet<string>): Promise<void> {
    const changes = this.#quotas.takeChanges()
    const { users, groups, datasets } = changes
    if (users.size + groups.size > 0) for (const name of owners) await this.#quotas.quotaOf(name)
    if (users.size + groups.size + datasets.size === 0 || !(await this.#meter.hasQuotas())) return
    for (const name of await this.#quotas.changedPeople(changes)) await this.#quotas.quotaOf(name)
    for (const id of datasets) await this.#quotas.recountOwnerOf(id)
  }

  /** Updates the highest free space; true if the disk is nearly full or fills fast. */
  #trackFilling({ freeBytes, reserveBytes, isLow }: DiskSpace): boolean {
    const isNear = isLow || freeBytes < 2 * reserveBytes
    const isFalling = this.#mostFree - freeBytes >= Math.min(layersAfterBytes.value, reserveBytes)
    this.#mostFree = isFalling ? freeBytes : Math.max(this.#mostFree, freeBytes)
    return isNear || isFalling
  }

  #writers(): Writer[] {
    const rows = this.#ctx.runCache.rows().filter(({ state }) => state !== "queued" && state !== "stopping")
    const writers = rows.map((run) => ({ run, sources: run.spec.mounts.filter(({ readOnly }) => !readOnly).map(({ source }) => source) }))
    return writers.filter(({ sources }) => sources.length > 0)
  }

  #isDue(name: string, isFilling: boolean): boolean {
    const last = this.#quotas.countOf(name)
    if (!last) return true
    const calm = Math.max(countEveryMs.value, calmFraction * last.tookMs)
    const quick = Math.max(quickCountEveryMs.value, quickFraction * last.tookMs)
    return this.#ctx.clock.now() - last.at >= (isFilling ? quick : calm)
  }

  /** Somebody's first upload asks for the counts of all members of their groups. */
  #countUncounted(): void {
    for (const name of this.#uncounted) {
      if (this.#counting.size >= maxFirstCounts || this.#ctx.closed.aborted) return
      this.#uncounted.delete(name)
      void this.#count(name).then(() => this.#countUncounted())
    }
  }

  /** Runs one count at a time for each person. Never rejects. */
  #count(name: string): Promise<void> {
    const running = this.#counting.get(name)
    if (running) return running
    const { closed, logger } = this.#ctx
    const counting = this.#countNow(name)
      .catch((err: unknown) => void (closed.aborted || logger.warn({ err, userName: name }, "counting a person's stored files failed")))
      .finally(() => this.#counting.delete(name))
    this.#counting.set(name, counting)
    return counting
  }

  async #countNow(name: string): Promise<void> {
    const before = await this.#quotas.quotaOf(name)
    if (!before) return
    const { account, maxBytes } = before
    const count = await this.#meter.count(account, maxBytes)
    const now = this.#ctx.clock.now()
    this.#quotas.recordCount(name, { ...count, at: now, maxBytes })
    this.#growth.record(name, count.areas, { excluded: account.excluded, now })
    const quota = await this.#quotas.quotaOf(name)
    if (quota) await this.#judge(name, quota, count)
  }

  async #judge(name: string, quota: StorageQuota, count: StorageCount): Promise<void> {
    const areas = Object.keys(count.areas)
    const boundaries = new Set([...areas, ...quota.account.excluded])
    const reaches = reachesAny({ areas, boundaries })
    const writers = this.#writers().filter(({ sources }) => sources.some(reaches))
    let isOver = false
    for (const { whose, limit, used } of boundsOf(name, quota)) {
      for (const { run } of writers) this.#warn(run, { whose, limit, used })
      if (used <= limit) continue
      isOver = true
      await this.#endGrower(name, writers, `${whose} ${mibText(limit)} and ${mibText(used)} are stored`)
    }
    if (!isOver) this.#growth.resetOverLimit(name)
  }

  #warn(run: RunRow, { whose, limit, used }: Bound): void {
    const level = warningShares.filter((part) => limit > 0 && used >= part * limit).length
    const before = this.#warned.get(run.id) ?? 0
    this.#warned.set(run.id, level)
    if (level <= before) return
    const consequence = used > limit ? "the run that stores more is ended" : "beyond that the run that stores more is ended"
    this.#ctx.events.warning(
      run,
      `${whose} ${mibText(limit)} in homes and datasets, and ${mibText(used)} are stored: ${consequence}. Delete files`,
    )
  }

  /** A run that does not grow continues beyond a limit, so that people can delete files. */
  async #endGrower(name: string, writers: readonly Writer[], why: string): Promise<void> {
    const grown = this.#growth.growthOverLimit(name)
    const found = mostGrown(writers, grown)
    if (!found || found.bytes < toleratedBytes) return
    await this.#end(found.run, `${why}; this run's directories grew by ${mibText(found.bytes)}`)
    this.#growth.resetOverLimit(name)
  }

  /** Ends the run that grew most; none if nothing grew. */
  async #makeRoom(): Promise<void> {
    const space = await this.#meter.diskSpace()
    if (!space.isLow) return
    const stored = mostGrown(this.#writers(), this.#growth.recentGrowth())
    const hidden = await this.#mostHidden(space)
    const found = [stored && { ...stored, what: "this run's directories", unknown: "" }, ...hidden]
      .filter((each) => each !== undefined)
      .sort((a, b) => b.bytes - a.bytes)[0]
    if (!found || found.bytes < Math.min(64 * mib, space.reserveBytes / 16)) return
    const numbers = `${mibText(space.freeBytes)} of the disk are free, and ${mibText(space.reserveBytes)} are kept free`
    if (Number.isFinite(found.bytes)) await this.#end(found.run, `${numbers}; ${found.what} grew most, by ${mibText(found.bytes)}`)
    else await this.#endUnmeasured(hidden, found.run.userId, numbers)
    this.#growth.resetRecentGrowth()
    this.#layers.resetBaseline(this.#ctx.runCache.rows())
    this.#deleted.resetBaseline()
  }

  /**
   * Ends all runs of a person that cannot be measured. One of them may fill the disk, and a look at
   * dozens takes most of a minute.
   */
  async #endUnmeasured(hidden: readonly Hidden[], userId: number, numbers: string): Promise<void> {
    const reasons = hidden.filter(({ run, bytes }) => run.userId === userId && !Number.isFinite(bytes))
    const byRun = new Map(reasons.map((each) => [each.run.id, each]))
    await Promise.all([...byRun.values()].map(({ run, unknown }) => this.#end(run, `${numbers}; ${unknown}`)))
  }

  /** The runs that wrote most outside of people's directories. */
  async #mostHidden(space: DiskSpace): Promise<Hidden[]> {
    const [inLayers, inDeleted] = await Promise.all([this.#layers.measureGrowth(space), this.#deleted.measureGrowth()])
    const rows = this.#ctx.runCache.rows().filter(({ state }) => state !== "queued" && state !== "stopping")
    return rows.flatMap((run) => [
      {
        run,
        bytes: inLayers(run),
        what: "this run's file system",
        unknown: "this run's file system takes too long to be counted",
      },
      {
        run,
        bytes: inDeleted(run.key),
        what: "the deleted files that this run has open",
        unknown: "this run has open files that cannot be examined for deleted ones",
      },
    ])
  }

  async #end(run: RunRow, msg: string): Promise<void> {
    this.#ctx.logger.warn({ run: run.id, userName: run.userName, msg }, "ending a run because of its storage")
    await stopWithReason(this.#ctx, run, createReason("disk_full", msg))
  }
}

/** Growth outside of people's directories. */
interface Hidden {
  run: RunRow
  /** `Infinity` if it cannot be measured. */
  bytes: number
  what: string
  /** The sentence for what cannot be measured. */
  unknown: string
}

/**
 * The run whose directories grew most. If several runs share them, the run with the most specific
 * mount, then the youngest.
 */
function mostGrown(writers: readonly Writer[], grown: readonly GrownArea[]): { run: RunRow; bytes: number } | undefined {
  const reached = grown.filter((each) => writers.some((writer) => canWrite(writer, each)))
  const [most] = reached.sort((a, b) => b.bytes - a.bytes)
  if (!most) return undefined
  const depth = ({ sources }: Writer) => Math.max(...sources.filter((source) => leadsTo(source, most)).map((source) => source.length))
  const candidates = writers.filter((writer) => canWrite(writer, most))
  const [first] = candidates.sort((a, b) => depth(b) - depth(a) || b.run.id - a.run.id)
  return first && { run: first.run, bytes: most.bytes }
}

type Area = Pick<GrownArea, "area" | "boundaries">

function canWrite({ sources }: Writer, area: Area): boolean {
  return sources.some((source) => leadsTo(source, area))
}

/** Whether something below the source is part of the area. */
function leadsTo(source: string, { area, boundaries }: Area): boolean {
  if (isWithin(area, source)) return true
  return isWithin(source, area) && !boundaries.has(source) && enclosingArea(source, boundaries) === area
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}

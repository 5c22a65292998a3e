import { bounds, defaultLimits, type EffectiveLimits } from "#contract"

const { runs, storage } = bounds

/** How runs are admitted and watched over. Times are milliseconds. */
export interface RunSettings {
  /** For a run that asks for 0. Default 1. */
  defaultCpus: number
  /** MiB, for a run that asks for 0. Default 2,048. */
  defaultMemoryMiB: number
  /**
   * So many CPUs are handed out for each that a node has beyond the reserve. Default 4. A single
   * run never gets more than a node really has.
   */
  cpuOvercommit: number
  /** The same for memory. Default 1. */
  memoryOvercommit: number
  /** Kept back on each node for the system. Default no CPU and 512 MiB. */
  reserve: { cpus: number; memoryMiB: number }
  timeoutsMs: StateTimeoutsMs
  /** How long a program may take to end when asked to. Default 10,000. */
  graceMs: number
  /** How often the engine is looked at when it says nothing. Default 3,000. */
  observeEveryMs: number
  /** How often a mark of activity is written at most. Default 30,000. */
  activityEveryMs: number
  /**
   * How often it is looked at what runs use, and whether they keep to their limits. Default 10,000.
   */
  sampleEveryMs: number
  /**
   * The limits of people who are no administrators, where nobody set another one. Memory and disk
   * are MiB. Default: `defaultLimits`.
   */
  defaultLimits: EffectiveLimits
  /** So many ended runs of a person are kept. Default 1,000. */
  maxEndedRuns: number
  /** So long ended runs are kept. Default 400. */
  maxEndedDays: number
  /** How often it is looked whether the history is too long. Default 60,000. */
  historyEveryMs: number
  /** How many samples of each run are kept. Default 360. */
  maxSamples: number
  /** How often it is counted what runs wrote to their own file systems. Default 60,000. */
  layersEveryMs: number
  /** It is counted at once where so many bytes of disk were taken since. Default 1 GiB. */
  layersAfterBytes: number
  /** How often it is looked at how much room the disk of people's files has. Default 3,000. */
  diskSpaceEveryMs: number
  /** How long a container that nobody knows is left alone. Default 10 minutes. */
  orphanGraceMs: number
  /**
   * Where the output of runs that are over is kept: for each the last 10,000 lines, 4 MiB at most.
   * Made when missing. Default: it is not kept.
   */
  logsDir?: string | undefined
  /** Default 30. */
  maxLogDays: number
}

/** How long a run may stay in each state. */
export interface StateTimeoutsMs {
  /** From the request. Default 24 h. */
  queued: number
  /** Without a byte or layer arriving. Default 2 minutes. */
  pulling: number
  /** Default 2 minutes. */
  creating: number
  /** Until the program answers. Default 2 minutes. */
  starting: number
  /** Beyond the grace time, for each attempt. Default 30 s. */
  stopping: number
}

export type RunSettingsOptions = Partial<Omit<RunSettings, "timeoutsMs" | "reserve">> & {
  timeoutsMs?: Partial<StateTimeoutsMs>
  reserve?: Partial<RunSettings["reserve"]>
}

export function resolveRunSettings(given: RunSettingsOptions): RunSettings {
  return {
    defaultCpus: 1,
    defaultMemoryMiB: 2_048,
    cpuOvercommit: 4,
    memoryOvercommit: 1,
    graceMs: 10_000,
    observeEveryMs: 3_000,
    activityEveryMs: 30_000,
    sampleEveryMs: 10_000,
    maxSamples: runs.samples.value,
    defaultLimits,
    maxEndedRuns: runs.historyRuns.value,
    maxEndedDays: runs.historyDays.value,
    historyEveryMs: 60_000,
    layersEveryMs: storage.layersEveryMs.value,
    layersAfterBytes: storage.layersAfterBytes.value,
    diskSpaceEveryMs: storage.roomEveryMs.value,
    orphanGraceMs: 10 * 60_000,
    maxLogDays: storage.keptLogDays.value,
    ...given,
    reserve: { cpus: 0, memoryMiB: 512, ...given.reserve },
    timeoutsMs: {
      queued: runs.queuedMs.value,
      pulling: runs.pullingMs.value,
      creating: runs.creatingMs.value,
      starting: runs.startingMs.value,
      stopping: 30_000,
      ...given.timeoutsMs,
    },
  }
}

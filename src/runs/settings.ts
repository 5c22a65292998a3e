import { bounds, defaultLimits, type EffectiveLimits } from "#contract"
import type { InstallationFacts } from "./lifecycle/environment.ts"

const { runs, storage } = bounds

/** Settings of admission and supervision. Times are milliseconds. */
export interface RunSettings {
  /** For a run that requests 0. Default 1. */
  defaultCpus: number
  /** MiB, for a run that requests 0. Default 2,048. */
  defaultMemoryMiB: number
  /**
   * CPUs allocated per CPU of a node beyond the reserve. Default 4. A single run never gets more
   * than a node has.
   */
  cpuOvercommit: number
  /** The same for memory. Default 1. */
  memoryOvercommit: number
  /** Reserved on each node for the system. Default no CPU and 512 MiB. */
  reserve: { cpus: number; memoryMiB: number }
  timeoutsMs: StateTimeoutsMs
  /** Until the program must answer, if its project does not say. Default 30. */
  startMinutes: number
  /** Interval of looking at a program that does not answer yet. Default 2,000. */
  startupLookEveryMs: number
  /** Time before the progress names the port on which such a program listens. Default 10,000. */
  startupHintAfterMs: number
  /** Time for a program to exit when asked to. Default 10,000. */
  graceMs: number
  /** Interval of observations without news from the engine. Default 3,000. */
  observeEveryMs: number
  /** Shortest interval between writes of activity. Default 30,000. */
  activityEveryMs: number
  /** Interval of usage samples and of the enforcement of limits. Default 10,000. */
  sampleEveryMs: number
  /**
   * Limits of people who are no administrators and have none set. Memory and disk are MiB. Default:
   * `defaultLimits`.
   */
  defaultLimits: EffectiveLimits
  /** Facts that programs find in their environment. Default: none. */
  installation: InstallationFacts
  /** Maximum number of ended runs per person. Default 1,000. */
  maxEndedRuns: number
  /** Maximum age of ended runs. Default 400. */
  maxEndedDays: number
  /** Interval of pruning the history. Default 60,000. */
  historyEveryMs: number
  /** Number of samples per run in memory. Default 6. */
  maxSamples: number
  /** Interval of measuring runs' own file systems. Default 60,000. */
  layersEveryMs: number
  /** Lost free disk space that triggers a measurement at once. Default 1 GiB. */
  layersAfterBytes: number
  /** Interval of checking the free disk of people's files. Default 3,000. */
  diskSpaceEveryMs: number
  /** Time before an orphaned container is stopped. Default 10 minutes. */
  orphanGraceMs: number
  /**
   * Directory for the output of ended runs: for each the last 10,000 lines, 4 MiB at most. Made
   * when missing. Default: output is not stored.
   */
  logsDir?: string | undefined
  /** Default 30. */
  maxLogDays: number
  /** Directory for the usage of runs over time. Made when missing. Default: it is not stored. */
  usageDir?: string | undefined
}

/** Deadlines of the states. */
export interface StateTimeoutsMs {
  /** From the request. Default 24 h. */
  queued: number
  /** Without a byte or layer arriving. Default 2 minutes. */
  pulling: number
  /** Default 2 minutes. */
  creating: number
  /** While the program neither answers nor works. Default 2 minutes. */
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
    startMinutes: runs.startMinutes.value,
    startupLookEveryMs: 2_000,
    startupHintAfterMs: 10_000,
    graceMs: 10_000,
    observeEveryMs: 3_000,
    activityEveryMs: 30_000,
    sampleEveryMs: 10_000,
    maxSamples: 6,
    defaultLimits,
    installation: {},
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

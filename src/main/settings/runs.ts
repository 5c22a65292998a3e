import { bounds, defaultLimits } from "#contract"
import { choiceOf, integerBetween, parseLimitList, parsePositiveNumber, parseRunMemoryMiB } from "./parse.ts"
import { setting } from "./setting.ts"

/** Defaults of runs, and limits of people. */
export const runsSettings = {
  defaultCpus: setting({
    env: "DEFAULT_CPUS",
    default: "1",
    initial: 1,
    read: integerBetween(1, 4096),
    doc: "CPUs of a run that names no number.",
  }),
  defaultMemory: setting({
    env: "DEFAULT_MEMORY",
    default: "2GiB",
    initial: 2048,
    read: parseRunMemoryMiB,
    doc: "Memory of a run that names no amount.",
  }),
  cpuOvercommit: setting({
    env: "CPU_OVERCOMMIT",
    default: "4",
    initial: 4,
    read: parsePositiveNumber,
    doc: "How many CPUs runs may reserve for each CPU of the machine.",
  }),
  memoryOvercommit: setting({
    env: "MEMORY_OVERCOMMIT",
    default: "1",
    initial: 1,
    read: parsePositiveNumber,
    doc: "How much memory runs may reserve for each byte of the machine's memory.",
  }),
  memoryUnit: setting({
    env: "MEMORY_UNIT",
    default: "MiB",
    initial: "MiB" as "bytes" | "MiB" | "GiB",
    read: choiceOf("bytes", "MiB", "GiB"),
    doc: "The unit of `Memory` and `GpuMemory` in the API.",
  }),
  defaultLimits: setting({
    env: "DEFAULT_LIMITS",
    default: Object.entries(defaultLimits)
      .filter(([, limit]) => limit !== null)
      .map((entry) => entry.join("="))
      .join(","),
    initial: defaultLimits,
    read: parseLimitList,
    doc: "Limits of people for whom neither their account nor a group sets one, separated by commas: `MaxRuns=20,MaxObjects=none`. Memory and disk in MiB; unnamed limits keep their defaults. They do not apply to administrators.",
  }),
  startsPerMinute: setting({
    env: "STARTS_PER_MINUTE",
    default: String(bounds.rates.starts.value),
    initial: bounds.rates.starts.value as number,
    read: integerBetween(1, 1_000_000),
    doc: "Maximum number of starts of a person in a minute. It does not apply to administrators.",
  }),
  writesPerMinute: setting({
    env: "WRITES_PER_MINUTE",
    default: String(bounds.rates.writes.value),
    initial: bounds.rates.writes.value as number,
    read: integerBetween(1, 1_000_000),
    doc: "Maximum number of POST, PUT and DELETE requests of a person to the API in a minute. Shells, programs and copies in runs count too.",
  }),
  streamsPerMinute: setting({
    env: "STREAMS_PER_MINUTE",
    default: String(bounds.rates.streams.value),
    initial: bounds.rates.streams.value as number,
    read: integerBetween(1, 1_000_000),
    doc: "Maximum number of event streams that a person opens in a minute.",
  }),
  openStreams: setting({
    env: "OPEN_STREAMS",
    default: String(bounds.rates.openStreams.value),
    initial: bounds.rates.openStreams.value as number,
    read: integerBetween(1, 1_000_000),
    doc: "Maximum number of open event streams of a person.",
  }),
  startMinutes: setting({
    env: "START_MINUTES",
    default: String(bounds.runs.startMinutes.value),
    initial: bounds.runs.startMinutes.value as number,
    read: integerBetween(1, bounds.runs.maxStartMinutes.value),
    doc: "Minutes until a program must answer after its start. A program that neither prints nor computes for two minutes fails earlier. A project's `StartMinutes` overrides both.",
  }),
  historyRuns: setting({
    env: "HISTORY_RUNS",
    default: String(bounds.runs.historyRuns.value),
    initial: bounds.runs.historyRuns.value as number,
    read: integerBetween(1, 1_000_000),
    doc: "Maximum number of ended and failed runs of each person; older ones are removed with their logs.",
  }),
  historyDays: setting({
    env: "HISTORY_DAYS",
    default: String(bounds.runs.historyDays.value),
    initial: bounds.runs.historyDays.value as number,
    read: integerBetween(1, 36_500),
    doc: "Ended and failed runs are removed after this number of days.",
  }),
} as const

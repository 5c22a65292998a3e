import { bounds, defaultLimits } from "#contract"
import { limitList, oneOf, positive, runMemory, whole } from "./parse.ts"
import { setting } from "./setting.ts"

/** What a run gets where it does not say, and what people may use. */
export const runsSettings = {
  defaultCpus: setting({ env: "DEFAULT_CPUS", default: "1", initial: 1, read: whole(1, 4096), doc: "CPUs of a run that does not say." }),
  defaultMemory: setting({
    env: "DEFAULT_MEMORY",
    default: "2GiB",
    initial: 2048,
    read: runMemory,
    doc: "Memory of a run that does not say.",
  }),
  cpuOvercommit: setting({
    env: "CPU_OVERCOMMIT",
    default: "4",
    initial: 4,
    read: positive,
    doc: "How many CPUs are handed out for each that is there.",
  }),
  memoryOvercommit: setting({ env: "MEMORY_OVERCOMMIT", default: "1", initial: 1, read: positive, doc: "The same for memory." }),
  memoryUnit: setting({
    env: "MEMORY_UNIT",
    default: "MiB",
    initial: "MiB" as "bytes" | "MiB" | "GiB",
    read: oneOf("bytes", "MiB", "GiB"),
    doc: "The unit of `Memory` and `GpuMemory` in the API.",
  }),
  defaultLimits: setting({
    env: "DEFAULT_LIMITS",
    default: Object.entries(defaultLimits)
      .filter(([, limit]) => limit !== null)
      .map((entry) => entry.join("="))
      .join(","),
    initial: defaultLimits,
    read: limitList,
    doc: "The limits of people where neither they nor a group of theirs have one, with commas between: `MaxRuns=20,MaxObjects=none`. Memory and disk in MiB; those that are not named stay as they are. Administrators have none.",
  }),
  startsPerMinute: setting({
    env: "STARTS_PER_MINUTE",
    default: String(bounds.rates.starts.value),
    initial: bounds.rates.starts.value as number,
    read: whole(1, 1_000_000),
    doc: "How many runs a person may start in a minute. Administrators have no such limit.",
  }),
  writesPerMinute: setting({
    env: "WRITES_PER_MINUTE",
    default: String(bounds.rates.writes.value),
    initial: bounds.rates.writes.value as number,
    read: whole(1, 1_000_000),
    doc: "How many POST, PUT and DELETE requests a person may send to the API in a minute.",
  }),
  streamsPerMinute: setting({
    env: "STREAMS_PER_MINUTE",
    default: String(bounds.rates.streams.value),
    initial: bounds.rates.streams.value as number,
    read: whole(1, 1_000_000),
    doc: "How many event streams a person may open in a minute.",
  }),
  openStreams: setting({
    env: "OPEN_STREAMS",
    default: String(bounds.rates.openStreams.value),
    initial: bounds.rates.openStreams.value as number,
    read: whole(1, 1_000_000),
    doc: "How many event streams a person may have open at once.",
  }),
  historyRuns: setting({
    env: "HISTORY_RUNS",
    default: String(bounds.runs.historyRuns.value),
    initial: bounds.runs.historyRuns.value as number,
    read: whole(1, 1_000_000),
    doc: "How many ended and failed runs of each person are kept; older ones are removed with their output.",
  }),
  historyDays: setting({
    env: "HISTORY_DAYS",
    default: String(bounds.runs.historyDays.value),
    initial: bounds.runs.historyDays.value as number,
    read: whole(1, 36_500),
    doc: "Ended and failed runs are removed after so many days.",
  }),
} as const

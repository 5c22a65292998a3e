import type { Progress, ReasonCode } from "#contract"

export type { Progress }

/**
 * How a container engine is spoken to. Engines know neither users nor the database: a run is its
 * key, its labels and its spec.
 */
export interface Engine extends AsyncDisposable {
  readonly name: "docker" | "kubernetes" | "fake"
  /**
   * Who decides where a run goes and on which devices. With `engine`, admission checks limits and
   * order only.
   */
  readonly placement: "quayside" | "engine"

  /**
   * Makes sure that runs can be confined on this machine, and rejects with one sentence where they
   * cannot. A start makes sure by itself; asked before, it tells the administrator early.
   */
  prepare(): Promise<void>

  /** Resolves when the engine answers; rejects with `EngineError("engine_unreachable")`. */
  ping(signal?: AbortSignal): Promise<void>

  /**
   * As `ping`, and rejects with an `EngineError` that tells what is missing of what keeps runs
   * apart. Mends nothing: `observe` does.
   */
  check(signal?: AbortSignal): Promise<void>

  /** What each node has in all, before overcommit and reserve. */
  capacity(signal?: AbortSignal): Promise<NodeCapacity[]>

  /**
   * What the engine holds under a reference; undefined where that is nothing. Fetches nothing,
   * though where `terms` want proof the registry is asked for its yes. Rejects with the same
   * `EngineError` as a start where the image may not be had on these terms.
   */
  image(reference: string, policy: ImagePolicy, signal?: AbortSignal): Promise<ImageInfo | undefined>

  /**
   * Fetches an image, also where one of that name is there: the name may lead to a newer one by
   * now. What was built on this machine is never replaced. On failure nothing of what came remains.
   */
  pull(reference: string, options: PullOptions): Promise<ImageInfo>

  /**
   * Fetches the image when it is missing, makes the container and starts it. Resolves once the
   * program has been started, not when it answers.
   *
   * Calling it again with the same key takes up whatever an earlier call left: a container that was
   * only created, or has ended, is removed and made anew, a running one is kept. On failure, or
   * when the signal is aborted, nothing of the key remains (where the engine can still be reached;
   * else `observe` tells). Rejects with an `EngineError`, or with the signal's reason. A `stop` of
   * the key cuts it short with `engine_error`.
   *
   * `resolveMounts` is asked right before directories are mounted, when nothing is left to wait
   * for: what it answers counts instead of the spec's mounts, and what it rejects with ends the
   * start. Not asked where the container runs already.
   */
  start(spec: RunSpec, report: (step: StartStep) => void, signal: AbortSignal, resolveMounts?: ResolveMounts): Promise<StartResult>

  /**
   * Everything of this instance that the engine holds, running or not. Rejects with
   * `engine_unreachable` rather than answer with less.
   */
  observe(signal?: AbortSignal): Promise<ObservedRun[]>

  /**
   * Calls `changed` soon after anything of this instance changed, and once after every
   * reconnection; it may call too often, never too seldom. Runs until the signal is aborted and
   * never rejects: it reconnects by itself.
   */
  watch(changed: () => void, signal: AbortSignal): Promise<void>

  /**
   * Asks the program to end, waits `graceMs` (default 10,000; engines may round up to whole
   * seconds; 0 kills at once), kills it, removes all of it. Resolves when the engine holds nothing
   * of the key, also when it never did.
   */
  stop(key: string, options?: { graceMs?: number; signal?: AbortSignal }): Promise<void>

  /**
   * Output, oldest first. With `follow` it goes on until the program ends or the signal is aborted.
   * An unknown key yields nothing.
   */
  logs(key: string, options?: LogOptions): AsyncIterable<LogLine>

  /**
   * What each running run uses, as the last `observe` saw them: one not seen yet, or gone since, is
   * absent. Cheap enough for every few seconds. Rejects with the signal's reason only.
   */
  stats(signal?: AbortSignal): Promise<RunStats[]>

  /**
   * What each run that the engine holds wrote to its own file system, by key: the image's volumes
   * are part of it, mounts, memory and the log are not. It counts files, so ask rarely. Rejects as
   * `observe` does.
   */
  writableLayers(signal?: AbortSignal): Promise<ReadonlyMap<string, WritableLayer>>

  /**
   * Bytes free where runs' own file systems lie, whoever fills it; null where that cannot be told.
   * Cheap enough for every few seconds. Rejects with the signal's reason only.
   */
  freeDisk(signal?: AbortSignal): Promise<number | null>

  /**
   * What a run was started from, as far as its container still tells: `env` has the image's own
   * variables too. Undefined when the engine holds nothing of the key. For a database that has
   * forgotten it.
   */
  recoverSpec(key: string, signal?: AbortSignal): Promise<RecoveredSpec | undefined>

  /**
   * Where this process reaches a port of a running run. `undefined` when the engine does not run
   * it.
   */
  address(key: string, port: number, signal?: AbortSignal): Promise<Address | undefined>
}

/** What may be mounted by now. */
export type ResolveMounts = () => Promise<readonly Mount[]>

export interface Address {
  host: string
  port: number
  /**
   * Whether the run that it was answered for has it still: another one may have got it by now, of
   * which `observe` tells later. Asked when a connection has been made, before anything is sent.
   * Absent where nobody can tell.
   */
  isCurrent?: () => boolean
}

/** What is to run. Values are final. */
export interface RunSpec {
  /** 32 hexadecimal digits, random, never used for another run. Names the container. */
  key: string
  run: number
  project: number
  user: string
  /** OCI reference. */
  image: string
  /**
   * `sha256:…` as `StartResult` tells it: a name that leads to another image fails the start with
   * `image_unavailable`. Absent: any image is meant.
   */
  imageDigest?: string | undefined
  imagePolicy: ImagePolicy
  /**
   * Arguments as `docker run IMAGE …` takes them: handed to the image's entry point where it has
   * one. Empty means the image's own.
   */
  command: readonly string[]
  /**
   * `HOME` should be an absolute path; where no mount is there it is a fresh directory in memory.
   * Default `/home/<user>`, and `USER` the user: the only defaults of an engine.
   */
  env: Readonly<Record<string, string>>
  /** The TCP port that the program listens on inside the container. */
  port: number
  /** Whole CPUs. */
  cpus: number
  /** MiB, without swap. */
  memoryMiB: number
  /** Device IDs from `capacity`, chosen by admission. */
  gpus: readonly string[]
  nodes: number
  mounts: readonly Mount[]
  /** Working directory inside the container; undefined means the image's own. */
  workDir?: string
  /** The group whose setting says what of the internet the run reaches, where one does. */
  internetOf?: string | undefined
  /** Whether the root file system may be written to (its changes are gone with the run). */
  writableRoot: boolean
  /**
   * MiB that the run may surely write to its own file system. Where the engine can, it refuses the
   * program what goes well beyond; never less, so that its bound lies somewhat higher. Absent: no
   * bound.
   */
  diskMiB?: number | undefined
}

/**
 * On what terms an image may be had by whom it is for. Where images may come from at all, and how
 * large they may be, the engine was told when it was made.
 */
export interface ImagePolicy {
  /** What the registry is told; absent: nothing. Neither logged nor kept, and in no message. */
  credentials?: RegistryCredentials
  /**
   * Whether the registry must hand it out to these credentials also where the engine has it
   * already: others may have fetched it with theirs.
   */
  verifyAccess: boolean
  /**
   * Whether it may be one that no registry vouches for: built on this machine, or here although its
   * registry is not allowed.
   */
  allowLocal: boolean
}

export interface RegistryCredentials {
  username: string
  password: string
}

export interface PullOptions {
  policy: ImagePolicy
  /** As `StartStep.progress`. */
  report: (progress: Progress | null) => void
  signal: AbortSignal
}

/** An image as the engine holds it. */
export interface ImageInfo {
  /** As `StartResult.imageDigest`. */
  digest: string
  /** Bytes, unpacked. */
  size: number
  /** As the image says; empty: root. Runs have a user of their own. */
  user: string
  entryPoint: readonly string[]
  command: readonly string[]
  workDir: string
  /** `8888/tcp`, as the image says. */
  ports: readonly string[]
}

/**
 * A spec without the terms of its image: whose credentials counted is kept by nobody. Nor is there
 * its bound of disk, which follows from the limits as they stand.
 */
export type RecoveredSpec = Omit<RunSpec, "imagePolicy" | "diskMiB">

/** What a run wrote to its own file system. */
export interface WritableLayer {
  bytes: number
  /** The `diskMiB` that the engine holds it to; null where it does not. */
  maxMiB: number | null
}

export interface Mount {
  /**
   * Absolute below the files root (`/users/ann/data`), never a host path. It must be a directory;
   * else the start fails with `mount_missing`.
   */
  source: string
  /** Absolute inside the container. */
  target: string
  readOnly: boolean
}

export interface StartResult {
  /** `sha256:…` of the image that runs. */
  imageDigest: string
  nodeNames: string[]
  gpuDevices: string[]
}

/**
 * What a start is doing now, told when it changes and, while pulling, each time that bytes have
 * moved: a pull that is silent has stalled. `current` and `total` are bytes and, while pulling,
 * only ever grow; null where the engine does not tell.
 */
export interface StartStep {
  state: "pulling" | "creating" | "starting"
  progress: Progress | null
}

export interface ObservedRun {
  key: string
  run: number
  project: number
  user: string
  /** `created` has not started yet, or its start failed. */
  state: "created" | "running" | "exited"
  exitCode: number | null
  /**
   * True when the kernel killed any process of the run for memory: it can be true with exit code 0.
   */
  oomKilled: boolean
  /** Milliseconds since the epoch. */
  startedAt: number | null
  finishedAt: number | null
  imageDigest: string
  nodeNames: string[]
  gpuDevices: string[]
}

/** Refuses an image that is not the one that is meant. */
export function checkDigest({ image, imageDigest }: Pick<RunSpec, "image" | "imageDigest">, found: string): void {
  if (imageDigest === undefined || imageDigest === found) return
  throw new EngineError(
    "image_unavailable",
    `The image ${image} is another one than the run had: a new start of the project takes the new one`,
  )
}

/** No engine makes a container with less. Source: Docker's `linuxMinMemory`. */
export const minMemoryMiB = 6

/** Null is what the engine cannot tell. Amounts of memory and traffic are bytes. */
export interface RunStats {
  key: string
  /** Processor time since the start, all processors together, in seconds. */
  cpuSeconds: number | null
  /** Without what the kernel would drop of cached files. */
  memory: number | null
  /** On all of its devices. */
  gpuMemory: number | null
  /** From 0 to 1, the mean of its devices. */
  gpuBusy: number | null
  /** Since the start. */
  networkIn: number | null
  networkOut: number | null
}

export interface LogOptions {
  /** Only the last so many lines. Default: all. */
  tail?: number
  /** Milliseconds since the epoch; only what is younger. */
  since?: number
  follow?: boolean
  signal?: AbortSignal
}

export interface LogLine {
  /** Milliseconds since the epoch. */
  time: number
  stream: "stdout" | "stderr"
  /** Without its line end; a longer line than 16 KiB comes in pieces. */
  text: string
}

export interface NodeCapacity {
  name: string
  cpus: number
  memoryMiB: number
  gpus: GpuDevice[]
}

export interface GpuDevice {
  id: string
  model: string
  memoryMiB: number
}

/** Why the engine could not do it, in the words of a run's `Reason`. */
export class EngineError extends Error {
  override readonly name = "EngineError"
  readonly code: ReasonCode
  /** What the engine itself said; for administrators and the log only. */
  readonly detail: string | undefined

  constructor(code: ReasonCode, msg: string, options: { detail?: string; cause?: unknown } = {}) {
    super(msg, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.detail = options.detail
  }
}

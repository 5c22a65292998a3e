import type { Server } from "node:net"
import type { Progress, ReasonCode } from "#contract"
import type { ListeningPort, RunAddress } from "./address.ts"
import type { GpuDevice, GpuRequest, NodeCapacity } from "./capacity.ts"
import type { ContainerLogLine, LogOptions } from "./containers/log-lines.ts"
import type { ExecContinuation, ExecProcess, ExecRequest } from "./exec.ts"
import type { ImageRemoval, RemovableImage, StoredImage } from "./stored-images.ts"

export type {
  ContainerLogLine,
  GpuDevice,
  ImageRemoval,
  ListeningPort,
  LogOptions,
  NodeCapacity,
  Progress,
  RemovableImage,
  RunAddress,
  StoredImage,
}

/**
 * The interface to a container engine. An engine knows neither users nor the database: a run is its
 * key, its labels and its spec.
 */
export interface Engine extends AsyncDisposable {
  readonly name: "docker" | "kubernetes" | "fake"
  /**
   * `quayside`: admission chooses the node and the devices. `engine`: the engine does, and
   * admission checks limits and order only.
   */
  readonly placement: "quayside" | "engine"

  /**
   * Checks that runs can be confined on this machine; rejects with one sentence when they cannot. A
   * start checks this too; `prepare` reports it before the first start.
   */
  prepare(): Promise<void>

  /** Resolves when the engine answers; rejects with `EngineError("engine_unreachable")`. */
  ping(signal?: AbortSignal): Promise<void>

  /**
   * Like `ping`, and also rejects with an `EngineError` that names each missing part of the
   * isolation. `check` repairs nothing: `observe` does.
   */
  check(signal?: AbortSignal): Promise<void>

  /** The total resources of each node, before overcommit and reserve. */
  capacity(signal?: AbortSignal): Promise<NodeCapacity[]>

  /**
   * Describes a local image; undefined if the engine does not have it. Nothing is fetched, but the
   * registry is asked for access if `policy.verifyAccess` is set. Rejects with the same
   * `EngineError` as a start if `policy` forbids the image.
   */
  image(reference: string, policy: ImagePolicy, signal?: AbortSignal): Promise<ImageInfo | undefined>

  /** The `architecture` that a pull would fetch; absent if `image` asks registries itself. */
  registryArchitecture?(reference: string, policy: ImagePolicy, signal?: AbortSignal): Promise<string>

  /**
   * Fetches an image, even if one of that name is there, since the name may now refer to a newer
   * one. An image built on this machine is never replaced. On failure nothing of the download
   * remains.
   */
  pull(reference: string, options: PullOptions): Promise<ImageInfo>

  /** All images on the engine's disk, whoever fetched or built them. */
  images(signal?: AbortSignal): Promise<StoredImage[]>

  /**
   * Removes an image, unless somebody may need it: a container, running or not; a start that has
   * found it; or somebody who gave it a name that is not among `references`.
   */
  removeImage(image: RemovableImage, signal?: AbortSignal): Promise<ImageRemoval>

  /**
   * Fetches the image if it is missing, creates the container and starts it. Resolves once the
   * program has started, which is before it answers.
   *
   * A second call with the same key continues from whatever an earlier call left. A container that
   * was only created, has exited or has other devices than the spec is removed and created again;
   * any other running one stays. A device with a fault, or of another container, is rejected with
   * `insufficient_gpu`. On failure, or when the signal is aborted, nothing of the key remains,
   * unless the engine is unreachable; `observe` then shows the remains. Rejects with an
   * `EngineError`, or with the signal's reason. A `stop` of the key aborts the start with
   * `engine_error`.
   *
   * `resolveSpec` is called with the image right before directories are mounted, after every other
   * wait. Its result replaces these fields of the spec, and its rejection ends the start. It is not
   * called if the container already runs.
   */
  start(spec: RunSpec, report: (step: StartStep) => void, signal: AbortSignal, resolveSpec?: ResolveSpec): Promise<StartResult>

  /**
   * Every run of this instance that has a container, running or not. Rejects with
   * `engine_unreachable` rather than return an incomplete list.
   */
  observe(signal?: AbortSignal): Promise<ObservedRun[]>

  /**
   * Calls `changed` soon after anything of this instance changed, and once after every
   * reconnection. Calls may be superfluous, but none is missing. Reconnects by itself, never
   * rejects, and ends when the signal is aborted.
   */
  watch(changed: () => void, signal: AbortSignal): Promise<void>

  /**
   * Asks the program to end, waits `graceMs`, kills it, and removes the container. The default of
   * `graceMs` is 10,000; engines may round up to whole seconds; 0 kills at once. Resolves when the
   * engine has no container of the key, even if it never had one.
   */
  stop(key: string, options?: { graceMs?: number; signal?: AbortSignal }): Promise<void>

  /**
   * Output, oldest first. With `follow` it continues until the program ends or the signal is
   * aborted. An unknown key yields nothing.
   */
  logs(key: string, options?: LogOptions): AsyncIterable<ContainerLogLine>

  /**
   * The resources that each running run uses. A run that the last `observe` did not see running is
   * absent. Cheap enough for every few seconds. Rejects with the signal's reason only.
   */
  stats(signal?: AbortSignal): Promise<ContainerStats[]>

  /**
   * The data that each run wrote to its own file system, by key. This includes the image's volumes
   * and deleted files that are open, but neither mounts, memory nor the log. It counts files, so
   * call it rarely. Rejects as `observe` does.
   */
  writableLayers(signal?: AbortSignal): Promise<ReadonlyMap<string, WritableLayer>>

  /**
   * Bytes of deleted files on the disk of the files root that each run has open, by key: no
   * directory shows them. `Infinity` if a run has more open files than can be examined, or files
   * that wait in a socket. A run that the last `observe` did not see running is absent. Rejects
   * with the signal's reason only.
   */
  deletedFiles(signal?: AbortSignal): Promise<ReadonlyMap<string, number>>

  /**
   * Free bytes on the disk of runs' own file systems; null if unknown. Cheap enough for every few
   * seconds. Rejects with the signal's reason only.
   */
  freeDisk(signal?: AbortSignal): Promise<number | null>

  /**
   * Recovers the spec of a run from its container, for a database that lost it. `env` also contains
   * the image's own variables. Undefined if the engine has no container of the key.
   */
  recoverSpec(key: string, signal?: AbortSignal): Promise<RecoveredSpec | undefined>

  /** The address of a port, as reachable from this process; undefined if the run does not run. */
  address(key: string, port: number, signal?: AbortSignal): Promise<RunAddress | undefined>

  /** The TCP ports on which the run's programs listen; undefined if the engine cannot know. */
  listeningPorts(key: string, signal?: AbortSignal): Promise<ListeningPort[] | undefined>

  /**
   * Listens at a port of the run's own loopback address; 0 is a free one. Accepted connections are
   * paused. Undefined if the run does not run. Rejects with `engine_error` if the port is in use,
   * or if this engine cannot do that.
   */
  listen(key: string, port: number, signal?: AbortSignal): Promise<Server | undefined>

  /**
   * Runs another program in the run's container, with the run's user, environment and limits.
   * Undefined if the run does not run. Rejects with `command_not_found` if the image lacks it.
   */
  exec(key: string, request: ExecRequest, signal?: AbortSignal): Promise<ExecProcess | undefined>

  /** Goes on with a program that a dead process had started. Undefined if it has ended. */
  resumeExec(continuation: ExecContinuation): Promise<ExecProcess | undefined>
}

/** Returns what is allowed at this moment, and the fields that depend on the image. */
export type ResolveSpec = (image: ImageInfo) => Promise<Pick<RunSpec, "mounts"> & Partial<ImageDependentFields>>
type ImageDependentFields = Pick<RunSpec, "entryPoint" | "command" | "env" | "port" | "workDir" | "writableRoot" | "writablePaths">

/** The run to start, with all defaults filled in. */
export interface RunSpec {
  /** 32 random hexadecimal digits, never reused. Part of the container's name. */
  key: string
  run: number
  project: number
  user: string
  /** OCI reference. */
  image: string
  /**
   * `sha256:…` from an earlier `StartResult`: the start uses this image, even if the name moved,
   * and fails with `image_unavailable` if it is gone. Absent: any image is accepted.
   */
  imageDigest?: string | undefined
  /** The `ImageInfo.registryDigest` of that image, by which it is fetched again if it is gone. */
  registryDigest?: string | undefined
  imagePolicy: ImagePolicy
  /** Replaces the image's entry point; undefined: the image's own. */
  entryPoint?: readonly string[] | undefined
  /** As in `docker run IMAGE …`, for the image's entry point if any. Empty: the image's own. */
  command: readonly string[]
  /**
   * The engine adds two defaults: `HOME=/home/<user>` and `USER=<user>`. `HOME` must be an absolute
   * path; without a mount there it is a fresh directory in memory.
   */
  env: Readonly<Record<string, string>>
  /** The TCP port on which the program listens inside the container. */
  port: number
  /** Whole CPUs. */
  cpus: number
  /** MiB, without swap. */
  memoryMiB: number
  /** Device IDs from `capacity`, chosen by admission. */
  gpus: readonly string[]
  /** For an engine that chooses the devices itself. Absent: none. */
  gpuRequest?: GpuRequest | undefined
  /** Nodes with that many resources each. Above 1, only an engine that can start all or nothing. */
  nodes: number
  mounts: readonly Mount[]
  /** Working directory inside the container; undefined: the image's own. */
  workDir?: string | undefined
  /** The group whose internet setting applies to the run, if any. */
  internetOf?: string | undefined
  /** Whether the root file system is writable; changes are lost with the run. */
  writableRoot: boolean
  /** Directories in memory that begin empty and belong to the run's user, besides `/tmp`. */
  writablePaths?: readonly string[] | undefined
  /**
   * MiB that the run can certainly write to its own file system. An engine that can limit this
   * refuses writes well beyond, never below. Absent: no limit.
   */
  diskMiB?: number | undefined
}

/**
 * The conditions for the use of an image. Allowed registries and the maximum size are options of
 * the engine.
 */
export interface ImagePolicy {
  /** Sent to the registry; absent: anonymous. Never logged, stored or part of a message. */
  credentials?: RegistryCredentials
  /**
   * Whether the registry must grant these credentials access even if the image is already local:
   * another person's credentials may have fetched it.
   */
  verifyAccess: boolean
  /**
   * Whether an image without a registry's approval is accepted: one built on this machine, or one
   * from a registry that is not allowed.
   */
  allowLocal: boolean
}

export interface RegistryCredentials {
  username: string
  password: string
}

export interface PullOptions {
  policy: ImagePolicy
  /** The name of the person for whom it is pulled. Default: nobody's. */
  owner?: string
  /** Like `StartStep.progress`. */
  report: (progress: Progress | null) => void
  signal: AbortSignal
}

/** A local image. */
export interface ImageInfo {
  /** Like `StartResult.imageDigest`. */
  digest: string
  /** Under which its registry provides it (`sha256:…`); empty if no registry did. */
  registryDigest: string
  /** Unpacked size in bytes. */
  size: number
  /** The kind of processor, such as `amd64`; empty if unknown. */
  architecture: string
  /** From the image; empty: root. Runs use a user of their own instead. */
  user: string
  entryPoint: readonly string[]
  command: readonly string[]
  workDir: string
  /** Such as `8888/tcp`, from the image. */
  ports: readonly string[]
  /** Names of the variables that the image sets. */
  variables: readonly string[]
  /** Directories that every container of the image gets empty or with the image's content. */
  volumes: readonly string[]
}

/**
 * A spec without its image policy, since credentials are never stored, and without its disk limit,
 * which follows from the current limits.
 */
export type RecoveredSpec = Omit<RunSpec, "imagePolicy" | "diskMiB" | "registryDigest">

/** The size of a run's writes to its own file system; at least `uncountedBytes` if unknown. */
export interface WritableLayer {
  bytes: number
  /** The `diskMiB` that the engine enforces; null if it enforces none. */
  maxMiB: number | null
}
/** More than any limit: counting took too long. */
export const uncountedBytes = Number.MAX_SAFE_INTEGER

export interface Mount {
  /**
   * Absolute below the files root (`/users/ann/data`), never a host path. Must be a directory;
   * otherwise the start fails with `mount_missing`.
   */
  source: string
  /** Absolute inside the container. */
  target: string
  readOnly: boolean
}

export interface StartResult {
  /** `sha256:…` of the running image. */
  imageDigest: string
  nodeNames: string[]
  gpuDevices: string[]
}

/**
 * The current step of a start, reported when it changes. During a pull it is reported whenever
 * bytes moved, and once when the registry breaks off: a silent pull has stalled. `current` and
 * `total` are bytes and only grow while pulling; null if unknown.
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
  /** `created`: not started yet, or its start failed. */
  state: "created" | "running" | "exited"
  exitCode: number | null
  /** Whether the kernel killed any process of the run for memory; possible with exit code 0. */
  oomKilled: boolean
  /** Why the engine, rather than the program, ended it, if the engine knows. */
  cause?: { code: ReasonCode; msg: string } | undefined
  /** The rank that ended first, of a run on several nodes. */
  endedRank?: number | undefined
  /** Milliseconds since the epoch. */
  startedAt: number | null
  finishedAt: number | null
  imageDigest: string
  nodeNames: string[]
  gpuDevices: string[]
}

/** The smallest memory limit of a container. Source: Docker's `linuxMinMemory`. */
export const minMemoryMiB = 6

/** Null: unknown to the engine. Memory and traffic are in bytes. */
export interface ContainerStats {
  key: string
  /** Processor time since the start, over all processors, in seconds. */
  cpuSeconds: number | null
  /** Without cached files that the kernel would drop. */
  memory: number | null
  /** Sum over its devices. */
  gpuMemory: number | null
  /** Mean over its devices, from 0 to 1. */
  gpuBusy: number | null
  /** Since the start, like the number of its processes that were killed for memory. */
  networkIn: number | null
  networkOut: number | null
  oomKills: number | null
}

/** A failure of the engine, with the code of a run's `Reason`. */
export class EngineError extends Error {
  override readonly name = "EngineError"
  readonly code: ReasonCode
  /** The engine's own message; for administrators and the log only. */
  readonly detail: string | undefined
  /** An action that the person can take, if more exact than the code's own hint. */
  readonly hint: string | undefined

  constructor(code: ReasonCode, msg: string, options: { detail?: string | undefined; hint?: string | undefined; cause?: unknown } = {}) {
    super(msg, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.detail = options.detail
    this.hint = options.hint
  }
}

/** This machine lacks a tool or a right that isolation needs. */
export class IsolationError extends EngineError {
  constructor(msg: string, options: { detail?: string; cause?: unknown } = {}) {
    super("engine_error", msg, options)
  }
}

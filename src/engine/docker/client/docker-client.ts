import type { Agent } from "node:http"
import { inspect } from "node:util"
import type Dockerode from "dockerode"
import { bounds, reasonSentences } from "#contract"
import { http } from "#http"
import { abortable } from "#kit"
import { EngineError } from "../../engine.ts"
import { type CallKind, CallQueues } from "./call-queue.ts"
import { toEngineError } from "./errors.ts"

const defaultSocket = "/var/run/docker.sock"
/** Above what a healthy daemon needs for any call that does not stream or wait. */
const callMs = bounds.containers.engineCallMs.value

export interface CallOptions {
  signal?: AbortSignal | undefined
  /**
   * After so many milliseconds without an answer the engine counts as unreachable; 0 waits for
   * ever. Default 15,000.
   */
  timeoutMs?: number
  /** What kind of call it is. Default: `look`, and `none` where `ms` is 0. */
  kind?: CallKind
  /** On whose behalf, where one person is not to take the whole lane. */
  owner?: string | undefined
  /** Aborted: the call does not begin any more. One that has begun only `signal` cuts off. */
  queueSignal?: AbortSignal
}

/** To be spread into the options of whatever is called. */
export interface AbortOption {
  abortSignal?: AbortSignal
}

export interface DaemonInfo {
  Name: string
  NCPU: number
  MemTotal: number
  LiveRestoreEnabled?: boolean
  /** On the daemon's host. */
  DockerRootDir: string
  /** Of storage. */
  Driver?: string
  DriverStatus?: [string, string][]
}

/** dockerode, with options where its types have none. */
export interface DockerApi extends Omit<Dockerode, "ping" | "info" | "getEvents" | "pull"> {
  ping(options: AbortOption): Promise<unknown>
  info(options: AbortOption): Promise<DaemonInfo>
  getEvents(options: AbortOption & { filters: object }): Promise<NodeJS.ReadableStream>
  pull(reference: string, options: AbortOption): Promise<NodeJS.ReadableStream>
}

/**
 * The Engine API of one daemon.
 *
 * dockerode is imported by the first call and not by whoever makes an engine.
 */
export class DockerClient {
  readonly #socketPath: string
  readonly #agent = unseen(new http.Agent())
  readonly #queues = new CallQueues()
  #docker: Promise<Dockerode> | undefined
  /** How many calls were answered, be it with a refusal. */
  #answered = 0

  constructor(socketPath = defaultSocket) {
    this.#socketPath = socketPath
  }

  /**
   * Runs one call when its lane has room; a failure is an `EngineError`, an abort the signal's
   * reason.
   */
  async call<T>(work: (docker: DockerApi, abort: AbortOption) => Promise<T>, options: CallOptions = {}): Promise<T> {
    const { signal, timeoutMs = callMs, kind = timeoutMs > 0 ? "read" : "unlimited", owner, queueSignal = signal } = options
    signal?.throwIfAborted()
    this.#docker ??= load(this.#socketPath, this.#agent)
    const docker = await this.#docker
    using _ = await this.#queues.acquire(kind, owner, queueSignal)
    return await this.#run(docker, work, { signal, timeoutMs })
  }

  /**
   * A daemon that answered nothing at all while a call waited hangs: those behind it would wait as
   * long, each in its turn.
   */
  async #run<T>(
    docker: Dockerode,
    work: (docker: DockerApi, abort: AbortOption) => Promise<T>,
    { signal, timeoutMs = 0 }: CallOptions,
  ): Promise<T> {
    const answeredBefore = this.#answered
    const timeout = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined
    const both = signal && timeout ? AbortSignal.any([signal, timeout]) : (signal ?? timeout)
    try {
      // dockerode has calls that take no signal.
      const answer = await abortable(work(docker as unknown as DockerApi, both ? { abortSignal: both } : {}), both)
      this.#answered += 1
      return answer
    } catch (error) {
      signal?.throwIfAborted()
      if (!timeout?.aborted) {
        this.#answered += 1
        throw toEngineError(error)
      }
      const silent = new EngineError("engine_unreachable", "The container engine does not answer", { cause: error })
      if (this.#answered === answeredBefore) this.#queues.rejectWaiting(silent)
      throw silent
    }
  }

  /** Cuts off what still waits for an answer: a daemon that hangs would keep the process. */
  close(): void {
    this.#agent.destroy()
  }
}

/**
 * For each call dockerode writes down what it is made with, to all depth, whether or not anybody
 * reads it: by way of the agent that would be every other open call, log and stream of events, and
 * the more of them are open the longer each call would hold the thread.
 */
function unseen<T extends object>(agent: T): T {
  return Object.defineProperty(agent, inspect.custom, { value: () => "Agent" })
}

/**
 * Every option that dockerode would otherwise read from `DOCKER_*` is given, so that only the
 * configuration decides which daemon is meant.
 */
async function load(socketPath: string, agent: Agent): Promise<Dockerode> {
  const { default: Docker } = await import("dockerode")
  return new Docker({ socketPath, protocol: "http", ...({ agent, host: undefined, port: undefined, timeout: undefined } as object) })
}

export function unreachable(cause?: unknown): EngineError {
  return new EngineError("engine_unreachable", reasonSentences.engine_unreachable, { cause })
}

import { inspect } from "node:util"
import { bounds } from "#contract"
import { http } from "#http"
import { abortable } from "#kit"
import { EngineError } from "../../engine.ts"
import { type CallKind, CallQueues } from "./call-queue.ts"
import { type AbortOption, type DockerApi, loadDockerApi } from "./docker-api.ts"
import { toEngineError } from "./errors.ts"

const defaultSocket = "/var/run/docker.sock"
/** More than a healthy daemon needs for any call that neither streams nor waits. */
const callMs = bounds.containers.engineCallMs.value

export interface CallOptions {
  signal?: AbortSignal | undefined
  /**
   * Without an answer within this time the engine counts as unreachable; 0 waits forever. Default
   * 15,000.
   */
  timeoutMs?: number
  /** Default: `read`, or `unlimited` if `timeoutMs` is 0. */
  kind?: CallKind
  /** The person behind the call, whose share of the queue is limited. */
  owner?: string | undefined
  /** Aborts a queued call; a call that has begun is aborted by `signal` only. */
  queueSignal?: AbortSignal
}

/** The Engine API of one daemon. The first call imports dockerode. */
export class DockerClient {
  readonly #socketPath: string
  readonly #agent = hideFromInspect(new http.Agent())
  readonly #queues = new CallQueues()
  #docker: Promise<DockerApi> | undefined
  /** The number of answered calls, including refusals. */
  #answered = 0

  constructor(socketPath = defaultSocket) {
    this.#socketPath = socketPath
  }

  /**
   * Runs one call when its queue has room. A failure is an `EngineError`, an abort the signal's
   * reason.
   */
  async call<T>(work: (docker: DockerApi, abort: AbortOption) => Promise<T>, options: CallOptions = {}): Promise<T> {
    const { signal, timeoutMs = callMs, kind = timeoutMs > 0 ? "read" : "unlimited", owner, queueSignal = signal } = options
    signal?.throwIfAborted()
    this.#docker ??= loadDockerApi({ socketPath: this.#socketPath, protocol: "http", agent: this.#agent })
    const docker = await this.#docker
    using _ = await this.#queues.acquire(kind, owner, queueSignal)
    return await this.#run(docker, work, { signal, timeoutMs })
  }

  /**
   * If the daemon answered nothing at all while a call waited, it hangs. Queued calls are then
   * rejected at once, since each would otherwise wait as long in turn.
   */
  async #run<T>(
    docker: DockerApi,
    work: (docker: DockerApi, abort: AbortOption) => Promise<T>,
    { signal, timeoutMs = 0 }: CallOptions,
  ): Promise<T> {
    const answeredBefore = this.#answered
    const timeout = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined
    const combined = signal && timeout ? AbortSignal.any([signal, timeout]) : (signal ?? timeout)
    try {
      // Some of dockerode's calls accept no signal.
      const answer = await abortable(work(docker, combined ? { abortSignal: combined } : {}), combined)
      this.#answered += 1
      return answer
    } catch (error) {
      signal?.throwIfAborted()
      if (!timeout?.aborted) {
        this.#answered += 1
        throw toEngineError(error)
      }
      const hung = new EngineError("engine_unreachable", "The container engine does not answer", { cause: error })
      if (this.#answered === answeredBefore) this.#queues.rejectWaiting(hung)
      throw hung
    }
  }

  /** Aborts every call without an answer: a daemon that hangs would keep the process alive. */
  close(): void {
    this.#agent.destroy()
  }
}

/**
 * docker-modem formats the arguments of each call for its debug output, to full depth, even if
 * nobody reads it. The agent would lead it through every other open call, log and event stream, so
 * each call would block the thread longer the more of them are open.
 */
function hideFromInspect<T extends object>(agent: T): T {
  return Object.defineProperty(agent, inspect.custom, { value: () => "Agent" })
}

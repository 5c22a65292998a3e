import type { CoreV1Event, V1Pod } from "@kubernetes/client-node"
import { type Clock, systemClock } from "#kit"
import type { StartStep } from "../../engine.ts"
import type { ClusterClient } from "../client/cluster-client.ts"
import { type PageRequest, Reflector } from "../client/reflector.ts"

interface Step {
  state: StartStep["state"]
  /** In words; undefined if nothing is known. */
  text: string | undefined
}

/** How long the events are followed after the last start, since the next one may come soon. */
const lingerMs = 30_000
/** How long a start waits for the watch: without it, only its progress is unknown. */
const beginMs = 1_000

/** The events about the pods of one start, from its beginning to its end. */
export interface PodEvents extends Disposable {
  onChange(listener: () => void): () => void
  /** The step of the pod that is furthest behind. */
  readonly step: Step
}

/**
 * The cluster's events about pods that start. One watch serves all starts, and ends some time after
 * the last one. Events only show a start's progress: it does not depend on them.
 */
export class PodEventFeed implements AsyncDisposable {
  readonly #client: ClusterClient
  readonly #clock: Clock
  readonly #followed = new Set<string>()
  #reflector: Reflector<CoreV1Event> | undefined
  #linger = new AbortController()

  constructor(client: ClusterClient, clock: Clock = systemClock) {
    this.#client = client
    this.#clock = clock
  }

  /** Must be called before anything happens to the pods: earlier events are not read. */
  async follow(pods: readonly Pick<V1Pod, "metadata">[], signal: AbortSignal): Promise<PodEvents> {
    const uids = pods.map(({ metadata }) => metadata?.uid ?? "")
    for (const uid of uids) this.#followed.add(uid)
    this.#linger.abort()
    this.#reflector ??= this.#open()
    const reflector = this.#reflector
    if (!reflector.isSynced) await this.#untilWatched(reflector, signal)
    return {
      onChange(listener) {
        const stops = uids.map((uid) => reflector.onGroupChange(uid, listener))
        return () => {
          for (const stop of stops) stop()
        }
      },
      get step() {
        return furthestBehind(uids.map((uid) => stepOf(reflector.group(uid))))
      },
      [Symbol.dispose]: () => this.#leave(uids),
    }
  }

  async #untilWatched(reflector: Reflector<CoreV1Event>, signal: AbortSignal): Promise<void> {
    const settled = new AbortController()
    const late = this.#clock.sleep(beginMs, AbortSignal.any([signal, settled.signal]))
    await Promise.race([reflector.items(settled.signal), late]).catch(() => {})
    settled.abort()
  }

  /** A list of one event tells where the watch begins. */
  #open(): Reflector<CoreV1Event> {
    const client = this.#client
    const { namespace } = client
    const fieldSelector = "involvedObject.kind=Pod"
    const list = async (_page: PageRequest, signal: AbortSignal) => {
      const { metadata } = await client.core(
        "read events",
        (core, settings) => core.listNamespacedEvent({ namespace, fieldSelector, limit: 1 }, settings),
        { signal },
      )
      return { items: [], metadata: { ...(metadata?.resourceVersion && { resourceVersion: metadata.resourceVersion }) } }
    }
    return new Reflector<CoreV1Event>({
      client,
      path: `/api/v1/namespaces/${namespace}/events`,
      fieldSelector,
      list,
      isWanted: (event) => this.#followed.has(event.involvedObject.uid ?? ""),
      groupOf: (event) => event.involvedObject.uid,
      clock: this.#clock,
    })
  }

  #leave(uids: readonly string[]): void {
    for (const uid of uids) {
      this.#followed.delete(uid)
      this.#reflector?.forgetGroup(uid)
    }
    if (this.#followed.size > 0) return
    this.#linger = new AbortController()
    this.#clock.sleep(lingerMs, this.#linger.signal).then(
      () => this.#close(),
      () => {},
    )
  }

  async #close(): Promise<void> {
    const reflector = this.#reflector
    this.#reflector = undefined
    await reflector?.[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#linger.abort()
    await this.#close()
  }
}

function furthestBehind(steps: readonly Step[]): Step {
  const order: StartStep["state"][] = ["pulling", "creating", "starting"]
  return [...steps].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state))[0] ?? { state: "pulling", text: undefined }
}

/**
 * The kubelet's and the scheduler's reasons. Source: `pkg/kubelet/events/event.go` of Kubernetes.
 */
function stepOf(events: readonly CoreV1Event[]): Step {
  const last = [...events].sort((a, b) => versionOf(b) - versionOf(a))[0]
  const has = (reason: string) => events.some((event) => event.reason === reason)
  const node = last?.source?.host ?? ""
  const at = node === "" ? "" : ` on ${node}`
  if (has("Started")) return { state: "starting", text: undefined }
  if (has("Created")) return { state: "starting", text: `The program starts${at}` }
  if (last?.reason === "FailedMount" || last?.reason === "FailedAttachVolume")
    return { state: "pulling", text: `The node cannot mount the files yet: ${last.message?.slice(0, 200)}` }
  if (last?.reason === "Failed") return { state: "creating", text: `The node tries again: ${last.message?.slice(0, 200)}` }
  if (has("Pulled")) return { state: "creating", text: `The container is created${at}` }
  if (has("Pulling")) return { state: "pulling", text: `The image is fetched${at}` }
  if (has("Scheduled")) return { state: "pulling", text: `The node prepares the run${at}` }
  return { state: "pulling", text: undefined }
}

function versionOf({ metadata }: CoreV1Event): number {
  return Number(metadata?.resourceVersion ?? 0)
}

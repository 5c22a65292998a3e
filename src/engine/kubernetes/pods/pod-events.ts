import type { CoreV1Event, V1Pod } from "@kubernetes/client-node"
import type { StartStep } from "../../engine.ts"
import type { ClusterClient } from "../client/cluster-client.ts"
import { Reflector } from "../client/reflector.ts"

interface Step {
  state: StartStep["state"]
  /** In words; undefined if nothing is known. */
  text: string | undefined
}

/** The cluster's events about the pods of a start, from its beginning to its end. */
export class PodEvents implements AsyncDisposable {
  readonly #reflectors: Reflector<CoreV1Event>[]

  constructor(client: ClusterClient, pods: readonly V1Pod[]) {
    const path = `/api/v1/namespaces/${client.namespace}/events`
    this.#reflectors = pods.map(({ metadata }) => {
      const fieldSelector = `involvedObject.uid=${metadata?.uid ?? ""}`
      return new Reflector<CoreV1Event>({
        client,
        path,
        fieldSelector,
        list: (_continue, signal) =>
          client.core(
            "read events",
            (core, settings) =>
              core.listNamespacedEvent({ namespace: client.namespace, fieldSelector, ...(_continue && { _continue }) }, settings),
            { signal },
          ),
      })
    })
    // Events only tell how far a start is: without them it goes on.
    for (const reflector of this.#reflectors) reflector.items().catch(() => {})
  }

  onChange(listener: () => void): () => void {
    const stops = this.#reflectors.map((reflector) => reflector.onChange(listener))
    return () => {
      for (const stop of stops) stop()
    }
  }

  /** The step of the pod that is furthest behind. */
  get step(): Step {
    const order: StartStep["state"][] = ["pulling", "creating", "starting"]
    const steps = this.#reflectors.map((reflector) => stepOf([...reflector.known.values()]))
    return steps.sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state))[0] ?? { state: "pulling", text: undefined }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector[Symbol.asyncDispose]()))
  }
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

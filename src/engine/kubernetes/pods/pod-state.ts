import type { V1ContainerStatus, V1Pod, V1PodCondition, V1PodStatus } from "@kubernetes/client-node"
import type { ObservedRun } from "../../engine.ts"
import { podIdentity, type StoredSpec, storedSpec } from "./names.ts"

/** Milliseconds since the epoch. The library leaves out times that are not set. */
function timeOf(time: Date | undefined): number | null {
  return time ? new Date(time).getTime() : null
}

/** The run's container, once the kubelet has said anything about it. */
export function containerOf({ status }: V1Pod): V1ContainerStatus | undefined {
  return status?.containerStatuses?.[0]
}

/** The digest that the pod asked for; without one, what the node says that it runs. */
export function digestOf(pod: V1Pod): string {
  const names = [pod.spec?.containers[0]?.image, containerOf(pod)?.imageID]
  return names.map((name) => /sha256:[0-9a-f]{64}$/.exec(name ?? "")?.[0]).find((digest) => digest !== undefined) ?? ""
}

/** Whether the kubelet only has to clean up after a deleted pod, and nobody else says why. */
function isGone(pod: V1Pod): boolean {
  return pod.metadata?.deletionTimestamp !== undefined && stateOf(pod) === "exited" && !wasDisrupted(pod)
}

/** Whether the cluster itself ended the pod: to make room, or because its node is gone. */
export function wasDisrupted({ status }: V1Pod): boolean {
  return disruptionOf(status) !== undefined
}

function disruptionOf(status: V1PodStatus | undefined): V1PodCondition | undefined {
  return status?.conditions?.find(({ type, status: isTrue }) => type === "DisruptionTarget" && isTrue === "True")
}

/**
 * `created`: it never ran, or not yet. A lost node's last report is that its programs run, so the
 * cluster's decision to give it up takes precedence.
 */
export function stateOf(pod: V1Pod): ObservedRun["state"] {
  const { metadata, status } = pod
  const { running, terminated } = containerOf(pod)?.state ?? {}
  const isGivenUp = metadata?.deletionTimestamp !== undefined && nodeLosses.has(disruptionOf(status)?.reason ?? "")
  if (terminated || isGivenUp || status?.phase === "Failed" || status?.phase === "Succeeded") return "exited"
  return running ? "running" : "created"
}

/** Why the cluster deletes pods whose node is gone or silent. */
const nodeLosses: ReadonlySet<string> = new Set(["DeletionByPodGC", "DeletionByTaintManager"])

/**
 * A run of one or several pods. It runs once all of them do. It has ended with the first pod that
 * failed, or else with that of rank 0, which people use.
 */
export function observedRun(pods: readonly V1Pod[]): ObservedRun | undefined {
  if (pods.every(isGone)) return undefined
  const ranked = pods
    .flatMap((pod) => {
      const identity = podIdentity(pod.metadata)
      return identity ? [{ pod, ...identity, state: stateOf(pod) }] : []
    })
    .sort((a, b) => a.rank - b.rank)
  const first = ranked[0]
  const stored = first && storedSpec(first.pod.metadata)
  if (!first || !stored) return undefined
  const exited = ranked.filter(({ state }) => state === "exited").sort((a, b) => endOf(a.pod) - endOf(b.pod))
  const ended = exited.find(({ pod }) => hasFailed(pod)) ?? exited.find(({ rank }) => rank === 0)
  const isRunning = ranked.length >= stored.nodes && ranked.every(({ state }) => state !== "created")
  const shown = ended ?? first
  const { terminated, running } = containerOf(shown.pod)?.state ?? {}
  return {
    key: first.key,
    run: stored.run,
    project: stored.project,
    user: stored.user,
    state: ended ? "exited" : isRunning ? "running" : "created",
    exitCode: terminated?.exitCode ?? null,
    oomKilled: terminated?.reason === "OOMKilled",
    cause: ended && causeOf(ended.pod, ended.rank, stored),
    ...(ended && stored.nodes > 1 && { endedRank: ended.rank }),
    startedAt: timeOf(terminated?.startedAt ?? running?.startedAt),
    finishedAt: ended ? endOf(ended.pod) : null,
    imageDigest: digestOf(first.pod),
    nodeNames: ranked.flatMap(({ pod }) => pod.spec?.nodeName ?? []),
    gpuDevices: [],
  }
}

/** Keeps what was made of each run's pods until one of them changes: most never do. */
export class ObservedRunCache {
  readonly #kept = new WeakMap<V1Pod, { pods: readonly V1Pod[]; run: ObservedRun | undefined }>()

  get(pods: readonly V1Pod[]): ObservedRun | undefined {
    const [first] = pods
    const kept = first && this.#kept.get(first)
    if (kept && kept.pods.length === pods.length && kept.pods.every((pod, n) => pod === pods[n])) return kept.run
    const run = observedRun(pods)
    if (first) this.#kept.set(first, { pods, run })
    return run
  }
}

function hasFailed(pod: V1Pod): boolean {
  return wasDisrupted(pod) || pod.status?.phase === "Failed" || (containerOf(pod)?.state?.terminated?.exitCode ?? 0) !== 0
}

function endOf(pod: V1Pod): number {
  const { metadata, status } = pod
  const left = status?.conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime
  return timeOf(containerOf(pod)?.state?.terminated?.finishedAt ?? left ?? metadata?.creationTimestamp) ?? 0
}

/** Why the cluster, rather than the program, ended a pod. */
function causeOf({ status }: V1Pod, rank: number, { nodes }: StoredSpec): ObservedRun["cause"] {
  const where = nodes > 1 ? ` (rank ${rank})` : ""
  const said = status?.message?.trim().slice(0, 300)
  const words = said ? `: ${said}` : ""
  if (status?.reason === "Evicted") return { code: "evicted", msg: `The node had to make room and ended the run${where}${words}` }
  if (status?.reason === "NodeLost" || status?.reason === "NodeShutdown" || status?.reason === "Terminated")
    return { code: "node_lost", msg: `The node of the run was shut down or is gone${where}${words}` }
  const disruption = disruptionOf(status)
  if (disruption && nodeLosses.has(disruption.reason ?? "")) return { code: "node_lost", msg: `The node of the run is gone${where}` }
  if (disruption) return { code: "evicted", msg: `The cluster ended the run${where}: ${disruption.message ?? disruption.reason}` }
  return undefined
}

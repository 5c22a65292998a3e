import { createHash } from "node:crypto"
import type { V1ObjectMeta } from "@kubernetes/client-node"
import type { RecoveredSpec, RunSpec } from "../../engine.ts"

const labels = {
  instance: "quayside.io/instance",
  key: "quayside.io/key",
  rank: "quayside.io/rank",
  internet: "quayside.io/internet",
} as const
const specAnnotation = "quayside.io/spec"

/** The only container of a run's pod. */
export const containerName = "main"
/** Holds a pod back until all that it needs is there. */
export const schedulingGate = "quayside.io/start"
/** Each node's kind of processor. */
export const architectureLabel = "kubernetes.io/arch"
/** For everybody without a group's setting. */
export const defaultInternetLabelValue = "common"

/** The name of everything of a run that is not one of its pods. */
export function runName(key: string): string {
  return `quayside-${key}`
}

export function podName(key: string, rank: number): string {
  return `${runName(key)}-${rank}`
}

/** The host name of a rank, which other ranks resolve. */
export function rankHostName(key: string, rank: number): string {
  return `run-${key.slice(0, 12)}-${rank}`
}

export function instanceLabels(instance: string): Record<string, string> {
  return { "app.kubernetes.io/managed-by": "quayside", [labels.instance]: instance }
}

export function keyLabels(instance: string, key: string): Record<string, string> {
  return { ...instanceLabels(instance), [labels.key]: key }
}

export function podLabels(spec: RunSpec, { instance, rank, internet }: { instance: string; rank: number; internet: string }) {
  return { ...keyLabels(instance, spec.key), [labels.rank]: String(rank), [labels.internet]: internet }
}

/** Selects the pods of an internet setting, by its label value. */
export function internetLabels(instance: string, internet: string): Record<string, string> {
  return { [labels.instance]: instance, [labels.internet]: internet }
}

export function instanceSelector(instance: string): string {
  return `${labels.instance}=${instance},${labels.key}`
}

/** Names of groups may have characters that labels may not. */
export function groupInternetLabelValue(group: string): string {
  return `g-${createHash("sha256").update(group).digest("hex").slice(0, 16)}`
}

/** A pod's place among those of its run; undefined for a pod that Quayside did not create. */
export function podIdentity(metadata: V1ObjectMeta | undefined): { key: string; rank: number } | undefined {
  const key = metadata?.labels?.[labels.key] ?? ""
  const rank = Number(metadata?.labels?.[labels.rank] ?? Number.NaN)
  return /^[0-9a-f]{32}$/.test(key) && Number.isInteger(rank) ? { key, rank } : undefined
}

/** The parts of a spec that cannot be read back from a pod's own fields. */
export type StoredSpec = Omit<RecoveredSpec, "env">

/** Labels are too short for these, and allow too few characters. */
export function specAnnotations(spec: RunSpec): Record<string, string> {
  const { env: _, imagePolicy: __, diskMiB: ___, registryDigest: ____, imageDigest: _____, ...stored } = spec
  return { [specAnnotation]: JSON.stringify(stored) }
}

export function storedSpec(metadata: V1ObjectMeta | undefined): StoredSpec | undefined {
  const text = metadata?.annotations?.[specAnnotation]
  return text === undefined ? undefined : (JSON.parse(text) as StoredSpec)
}

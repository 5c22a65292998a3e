import type { RunSpec } from "../../engine.ts"

const labels = {
  instance: "quayside.instance",
  key: "quayside.key",
  run: "quayside.run",
  project: "quayside.project",
  user: "quayside.user",
  gpus: "quayside.gpus",
  image: "quayside.image",
  port: "quayside.port",
  mounts: "quayside.mounts",
  internetOf: "quayside.internet-of",
  disk: "quayside.disk",
} as const

/** The owner of a container, read from its labels. */
export interface ContainerIdentity {
  key: string
  run: number
  project: number
  user: string
  gpuDevices: string[]
}

export function containerName(key: string): string {
  return `quayside-${key}`
}

export function runLabels(spec: RunSpec, instance: string): Record<string, string> {
  return {
    [labels.instance]: instance,
    [labels.key]: spec.key,
    [labels.run]: String(spec.run),
    [labels.project]: String(spec.project),
    [labels.user]: spec.user,
    [labels.gpus]: spec.gpus.join(","),
    [labels.image]: spec.image,
    [labels.port]: String(spec.port),
    [labels.mounts]: JSON.stringify(spec.mounts.map(({ source, target, readOnly }) => [source, target, readOnly ? "ro" : "rw"])),
  }
}

/** The parts of a spec that are stored in labels. */
export function specFromLabels(found: Record<string, string>): Pick<RunSpec, "image" | "port" | "mounts"> {
  const mounts = JSON.parse(found[labels.mounts] ?? "[]") as [source: string, target: string, mode: string][]
  return {
    image: found[labels.image] ?? "",
    port: Number(found[labels.port] ?? 0),
    mounts: mounts.map(([source, target, mode]) => ({ source, target, readOnly: mode === "ro" })),
  }
}

export function instanceLabel(instance: string): string {
  return `${labels.instance}=${instance}`
}

export function belongsToInstance(instance: string, found: Record<string, string> | undefined): boolean {
  return found?.[labels.instance] === instance
}

/**
 * Records the limit on a container's own file system; null: none. Always set, since a container
 * inherits the labels of its image.
 */
export function diskLimitLabel(mib: number | null): Record<string, string> {
  return { [labels.disk]: mib === null ? "" : String(mib) }
}

/** Null if there is no limit. */
export function diskLimitOf(found: Record<string, string>): number | null {
  const mib = found[labels.disk] ?? ""
  return mib === "" ? null : Number(mib)
}

/**
 * Undefined for a container with the instance's label but without a valid key: Quayside did not
 * create it.
 */
export function containerIdentityOf(found: Record<string, string>): ContainerIdentity | undefined {
  const key = found[labels.key] ?? ""
  if (!/^[0-9a-f]{32}$/.test(key)) return undefined
  return {
    key,
    run: Number(found[labels.run] ?? 0),
    project: Number(found[labels.project] ?? 0),
    user: found[labels.user] ?? "",
    gpuDevices: devicesOf(found),
  }
}

/** Every container of a run has this label, also one without devices. */
export const gpusLabel = labels.gpus

/** The devices of any instance's container. */
export function gpuAllocationOf(found: Record<string, string>): { instance: string; key: string; gpuDevices: string[] } {
  return { instance: found[labels.instance] ?? "", key: found[labels.key] ?? "", gpuDevices: devicesOf(found) }
}

/**
 * Whether a container has exactly the spec's devices. A restored database may have given the run
 * other ones.
 */
export function hasDevicesOf({ gpus }: Pick<RunSpec, "gpus">, found: Record<string, string>): boolean {
  return devicesOf(found).sort().join() === [...gpus].sort().join()
}

function devicesOf(found: Record<string, string>): string[] {
  return (found[labels.gpus] ?? "").split(",").filter((id) => id !== "")
}

/** The owner of a network, and the group whose internet setting applies; empty: no group. */
export interface NetworkIdentity {
  user: string
  group: string
}

export function networkLabels(instance: string, { user, group }: NetworkIdentity): Record<string, string> {
  return { [labels.instance]: instance, [labels.user]: user, [labels.internetOf]: group }
}

/** Undefined for a network that Quayside did not create. */
export function networkIdentity(found: Record<string, string> | undefined): NetworkIdentity | undefined {
  const user = found?.[labels.user]
  return user === undefined ? undefined : { user, group: found?.[labels.internetOf] ?? "" }
}

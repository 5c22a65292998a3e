import type { V1Container, V1Pod, V1PodSpec, V1Secret, V1Service, V1Volume, V1VolumeMount } from "@kubernetes/client-node"
import { bounds } from "#contract"
import { splitPath } from "#kit"
import { accountFiles } from "../../containers/account-files.ts"
import { homeDirectory, memoryDirectories } from "../../containers/run-directories.ts"
import type { RunSpec } from "../../engine.ts"
import type { KubernetesOptions } from "../kubernetes-options.ts"
import {
  architectureLabel,
  containerName,
  keyLabels,
  podLabels,
  podName,
  rankHostName,
  runName,
  schedulingGate,
  specAnnotations,
} from "./names.ts"

const { memoryFiles } = bounds.containers

const memoryShare = memoryFiles.value / 100

export interface ManifestContext {
  options: KubernetesOptions
  uid: number
  gid: number
}

export interface PodManifestOptions {
  spec: RunSpec
  rank: number
  /** With a digest where the registry gave one. */
  image: string
  /** Whether the image is on nodes only, and no registry has it. */
  isPreloaded: boolean
  /** The label value of the internet setting. */
  internet: string
  hasCredentials: boolean
  /** The kind of processor that its node needs; undefined: any. */
  architecture?: string | undefined
  /** Normalized paths of `imageVolumes`. */
  volumes: readonly string[]
}

/**
 * A pod of a run. No setting of a person weakens it: no capabilities, no new privileges, no token,
 * no host namespaces, and only the granted devices. Accepted by the "restricted" pod security
 * standard.
 */
export function podManifest(context: ManifestContext, pod: PodManifestOptions): V1Pod {
  const { options, uid, gid } = context
  const { spec, rank, internet } = pod
  const volumes = volumesOf(pod, options)
  const { pods = {} } = options
  const pullSecrets = [...(pods.pullSecrets ?? []), ...(pod.hasCredentials ? [pullSecretName(spec.key)] : [])]
  const podSpec: V1PodSpec = {
    restartPolicy: "Never",
    schedulingGates: [{ name: schedulingGate }],
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    hostname: rankHostName(spec.key, rank),
    ...(spec.nodes > 1 && { subdomain: runName(spec.key) }),
    // The pause process reaps what the program leaves behind, and signals have their defaults.
    shareProcessNamespace: true,
    terminationGracePeriodSeconds: 10,
    securityContext: {
      runAsUser: uid,
      runAsGroup: gid,
      runAsNonRoot: true,
      seccompProfile: pods.seccompProfile ? { type: "Localhost", localhostProfile: pods.seccompProfile } : { type: "RuntimeDefault" },
    },
    containers: [containerManifest(pod, options, volumes.mounts)],
    volumes: volumes.volumes,
    ...(pullSecrets.length > 0 && { imagePullSecrets: pullSecrets.map((name) => ({ name })) }),
    ...nodeSelection(pod, options),
    ...(pods.tolerations && { tolerations: pods.tolerations.map((each) => ({ ...each })) }),
    ...(pods.priorityClass && { priorityClassName: pods.priorityClass }),
    ...(pods.runtimeClass && { runtimeClassName: pods.runtimeClass }),
    ...(pods.serviceAccount && { serviceAccountName: pods.serviceAccount }),
    ...(pods.scheduler && { schedulerName: pods.scheduler }),
    ...gpuAffinity(spec, options),
  }
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: podName(spec.key, rank),
      labels: { ...podLabels(spec, { instance: options.instance, rank, internet }), ...queueLabels(spec, pods.queue) },
      annotations: { ...specAnnotations(spec), ...accountAnnotations(spec, context), ...queueAnnotations(spec, pods.queue) },
    },
    spec: podSpec,
  }
}

function nodeSelection({ architecture }: PodManifestOptions, { pods }: KubernetesOptions): Pick<V1PodSpec, "nodeSelector"> {
  const nodeSelector = { ...pods?.nodeSelector, ...(architecture !== undefined && { [architectureLabel]: architecture }) }
  return Object.keys(nodeSelector).length > 0 ? { nodeSelector } : {}
}

function containerManifest(
  { spec, image, isPreloaded, rank }: PodManifestOptions,
  options: KubernetesOptions,
  mounts: V1VolumeMount[],
): V1Container {
  const gpus = gpuCountOf(spec)
  const limits = {
    cpu: String(spec.cpus),
    memory: `${spec.memoryMiB}Mi`,
    ...(spec.diskMiB !== undefined && { "ephemeral-storage": `${spec.diskMiB}Mi` }),
    ...(gpus > 0 && { [options.gpuResource ?? "nvidia.com/gpu"]: String(gpus) }),
  }
  const { cpus, memoryMiB } = resourceRequestOf(spec, options)
  const requests = { cpu: `${Math.round(cpus * 1_000)}m`, memory: `${memoryMiB}Mi` }
  return {
    name: containerName,
    image,
    imagePullPolicy: isPreloaded ? "Never" : "IfNotPresent",
    ...(spec.entryPoint !== undefined && { command: spec.entryPoint.map(literal) }),
    ...(spec.command.length > 0 && { args: spec.command.map(literal) }),
    ...(spec.workDir !== undefined && { workingDir: spec.workDir }),
    envFrom: [{ secretRef: { name: runName(spec.key) } }],
    ...(spec.nodes > 1 && { env: [{ name: "NODE_RANK", value: String(rank) }] }),
    resources: { requests: { ...limits, ...requests }, limits },
    ports: [{ containerPort: spec.port }],
    volumeMounts: mounts,
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
      readOnlyRootFilesystem: !spec.writableRoot,
    },
  }
}

/** Source: "Run A Group Of Pods" of Kueue's documentation. */
function queueLabels(spec: RunSpec, queue: string | undefined): Record<string, string> {
  if (queue === undefined) return {}
  return { "kueue.x-k8s.io/queue-name": queue, ...(spec.nodes > 1 && { "kueue.x-k8s.io/pod-group-name": runName(spec.key) }) }
}

function queueAnnotations(spec: RunSpec, queue: string | undefined): Record<string, string> {
  return queue === undefined || spec.nodes === 1 ? {} : { "kueue.x-k8s.io/pod-group-total-count": String(spec.nodes) }
}

/** The part of a node that each pod of a run reserves. */
export function resourceRequestOf(
  { cpus, memoryMiB }: RunSpec,
  { cpuOvercommit = 1, memoryOvercommit = 1 }: KubernetesOptions,
): { cpus: number; memoryMiB: number } {
  return { cpus: Math.ceil((cpus * 1_000) / cpuOvercommit) / 1_000, memoryMiB: Math.ceil(memoryMiB / memoryOvercommit) }
}

/** Kubernetes would replace `$(NAME)` in commands by a variable, and `$$` by `$`. */
function literal(word: string): string {
  return word.replaceAll("$", () => "$$")
}

/** Devices that admission chose on other engines have no meaning here: the scheduler chooses. */
export function gpuCountOf({ gpuRequest }: RunSpec): number {
  return gpuRequest?.count ?? 0
}

function gpuAffinity({ gpuRequest }: RunSpec, { gpuMemoryLabel = "nvidia.com/gpu.memory" }: KubernetesOptions): Partial<V1PodSpec> {
  if (!gpuRequest || gpuRequest.count === 0 || gpuRequest.memoryMiB === 0) return {}
  const matchExpressions = [{ key: gpuMemoryLabel, operator: "Gt", values: [String(gpuRequest.memoryMiB - 1)] }]
  const requiredDuringSchedulingIgnoredDuringExecution = { nodeSelectorTerms: [{ matchExpressions }] }
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution } } }
}

function volumesOf(
  { spec, volumes: declared }: PodManifestOptions,
  { volume, volumePath = "/" }: KubernetesOptions,
): { volumes: V1Volume[]; mounts: V1VolumeMount[] } {
  const items = accountFileNames.map((path) => ({ path, fieldRef: { fieldPath: `metadata.annotations['${accountAnnotation(path)}']` } }))
  const accounts = { name: "accounts", downwardAPI: { defaultMode: 0o444, items } }
  const sizeLimit = `${Math.ceil(spec.memoryMiB * memoryShare)}Mi`
  const memory = [...memoryDirectories(spec).keys(), "/dev/shm"].map((mountPath, n) => ({
    volume: { name: `memory-${n}`, emptyDir: { medium: "Memory", sizeLimit } },
    mount: { name: `memory-${n}`, mountPath },
  }))
  const ofImage = declared.map((mountPath, n) => ({
    volume: { name: `${imageVolumePrefix}${n}`, emptyDir: {} },
    mount: { name: `${imageVolumePrefix}${n}`, mountPath },
  }))
  const files = { name: "files", persistentVolumeClaim: { claimName: volume } }
  const prefix = splitPath(volumePath)
  const sources = spec.mounts.map(({ source, target, readOnly }) => ({
    name: "files",
    mountPath: target,
    subPath: [...prefix, ...splitPath(source)].join("/"),
    readOnly,
  }))
  const accountMounts = accountFileNames.map((name) => ({ name: "accounts", mountPath: `/etc/${name}`, subPath: name, readOnly: true }))
  return {
    volumes: [accounts, ...[...memory, ...ofImage].map((each) => each.volume), ...(sources.length > 0 ? [files] : [])],
    mounts: [...[...memory, ...ofImage].map((each) => each.mount), ...sources, ...accountMounts],
  }
}

/** In the names of the pod's volumes that stand for those of its image. */
export const imageVolumePrefix = "image-volume-"

const accountFileNames = ["passwd", "group"] as const

function accountAnnotation(name: (typeof accountFileNames)[number]): string {
  return `quayside.io/${name}`
}

/** A secret's keys would become variables. */
function accountAnnotations(spec: RunSpec, { uid, gid }: ManifestContext): Record<string, string> {
  const files = accountFiles({ user: spec.user, home: homeDirectory(spec), uid, gid })
  return Object.fromEntries(accountFileNames.map((name) => [accountAnnotation(name), files[`/etc/${name}`] ?? ""]))
}

interface Owner {
  name: string
  uid: string
}

/** The run's variables, some of which are secret. It is removed with the pod that owns it. */
export function secretManifest({ options }: ManifestContext, spec: RunSpec, owner: Owner): V1Secret {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: ownedMetadata(spec, { options, owner, name: runName(spec.key) }),
    stringData: variablesOf(spec),
  }
}

function variablesOf(spec: RunSpec): Record<string, string> {
  return { HOME: homeDirectory(spec), USER: spec.user, ...rendezvousVariables(spec), ...spec.env }
}

/** The port on which rank 0 awaits the others. Source: the default of PyTorch's `torchrun`. */
const rendezvousPort = 29_500

/** The variables of PyTorch and its like; `NODE_RANK` differs from pod to pod. */
function rendezvousVariables(spec: RunSpec): Record<string, string> {
  if (spec.nodes < 2) return {}
  const processes = Math.max(1, gpuCountOf(spec))
  return {
    MASTER_ADDR: `${rankHostName(spec.key, 0)}.${runName(spec.key)}`,
    MASTER_PORT: String(rendezvousPort),
    NNODES: String(spec.nodes),
    NPROC_PER_NODE: String(processes),
    WORLD_SIZE: String(spec.nodes * processes),
  }
}

/** The variables of a run, from its secret. */
export function variablesOfSecret({ data = {} }: V1Secret): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, Buffer.from(value, "base64").toString()]))
}

function pullSecretName(key: string): string {
  return `${runName(key)}-pull`
}

/** A person's credentials for the registry, for as long as the pod exists. */
export function pullSecretManifest(
  { options }: ManifestContext,
  { spec, owner, host }: { spec: RunSpec; owner: Owner; host: string },
): V1Secret {
  const { username = "", password = "" } = spec.imagePolicy.credentials ?? {}
  // The kubelet knows Docker's own registry under this name.
  const server = host === "docker.io" ? "https://index.docker.io/v1/" : host
  const auth = Buffer.from(`${username}:${password}`).toString("base64")
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/dockerconfigjson",
    metadata: ownedMetadata(spec, { options, owner, name: pullSecretName(spec.key) }),
    stringData: { ".dockerconfigjson": JSON.stringify({ auths: { [server]: { username, password, auth } } }) },
  }
}

/** Gives the pods of a run names that they resolve among themselves, also before they are ready. */
export function serviceManifest({ options }: ManifestContext, spec: RunSpec, owner: Owner): V1Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: ownedMetadata(spec, { options, owner, name: runName(spec.key) }),
    spec: { clusterIP: "None", publishNotReadyAddresses: true, selector: keyLabels(options.instance, spec.key) },
  }
}

function ownedMetadata(spec: RunSpec, { options, owner, name }: { options: KubernetesOptions; owner: Owner; name: string }) {
  return {
    name,
    labels: keyLabels(options.instance, spec.key),
    ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: owner.name, uid: owner.uid }],
  }
}

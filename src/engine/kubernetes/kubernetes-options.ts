import type { Clock, Logger } from "#kit"
import type { RegistryAllowlist } from "../registry-allowlist.ts"

export interface KubernetesOptions {
  /**
   * The name of this Quayside and of its database's epoch: 1–40 characters of `a-z0-9-`. Other
   * instances' pods are never observed or changed.
   */
  instance: string
  /** This process's own mount of the volume that contains every mount source. */
  filesRoot: string
  /** The claim of that volume in the runs' namespace (ReadWriteMany). */
  volume: string
  /** The files root's path on the volume. Default: the volume's own root. */
  volumePath?: string | undefined
  /** The user of runs and owner of their files. Never 0. */
  uid: number
  /** Default: `uid`. */
  gid?: number | undefined
  /** Default: `KUBECONFIG`, then `~/.kube/config`, then the service account of this pod. */
  kubeconfig?: string | undefined
  /** Default: the kubeconfig's current context. */
  context?: string | undefined
  /** The namespace of runs. Default: the context's, or this pod's. */
  namespace?: string | undefined
  /** The pods that connect to runs. Default: none. */
  gateway?: PodSelection | undefined
  /**
   * The name servers of runs: pods, or addresses and networks where these are no pods. Default:
   * `k8s-app=kube-dns` in `kube-system`.
   */
  dns?: PodSelection | readonly string[] | undefined
  /** Whether runs reach public addresses. Default true. */
  internet?: boolean | undefined
  /** The internet settings of groups, by the name in a spec's `internetOf`. Default none. */
  groupInternet?: readonly { group: string; internet: boolean | readonly string[] }[] | undefined
  /** Private networks and addresses that runs may reach. Default none. */
  allow?: readonly string[] | undefined
  /** Public networks and addresses that runs may not reach. Default none. */
  deny?: readonly string[] | undefined
  /** Applied to every pod of a run. Default: nothing. */
  pods?: PodDefaults | undefined
  /**
   * How many times a node's processors and memory may be promised: a pod requests that part of what
   * it may use. Default 1.
   */
  cpuOvercommit?: number | undefined
  memoryOvercommit?: number | undefined
  /**
   * Whether the kubelets' certificates must come from the cluster's own authority. `off` sends this
   * process's credentials to whoever answers at a node's address. Default `on`.
   */
  kubeletTls?: "on" | "off" | undefined
  /** The resource by which the cluster counts GPUs. Default `nvidia.com/gpu`. */
  gpuResource?: string | undefined
  /** The node label with the memory of a node's GPUs in MiB. Default `nvidia.com/gpu.memory`. */
  gpuMemoryLabel?: string | undefined
  /** The registries from which images may come. Default: `wellKnownRegistries`. */
  registries?: RegistryAllowlist | undefined
  /** The maximum size of an image's packed layers in bytes; 0 is no limit. Default 0. */
  maxImageBytes?: number | undefined
  /**
   * Whether this process is the one that starts and ends runs now, of several with one database.
   * While it is not, it leaves to the other what a start or a crash left. Default: always.
   */
  isLeader?: (() => boolean) | undefined
  clock?: Clock | undefined
  logger?: Logger | undefined
}

/** Pods by their labels. */
export interface PodSelection {
  /** Default: the namespace of runs. */
  namespace?: string | undefined
  labels: Readonly<Record<string, string>>
}

/** How the cluster schedules and pulls. */
export interface PodDefaults {
  /** Secrets in the runs' namespace for registries. */
  pullSecrets?: readonly string[] | undefined
  nodeSelector?: Readonly<Record<string, string>> | undefined
  tolerations?: readonly { key?: string; operator?: string; value?: string; effect?: string }[] | undefined
  priorityClass?: string | undefined
  runtimeClass?: string | undefined
  /** A file in the kubelet's directory of seccomp profiles. Default: the runtime's own profile. */
  seccompProfile?: string | undefined
  /** Default: the cluster's own scheduler. */
  scheduler?: string | undefined
  /** The queue of Kueue that admits all pods of a run at once. Default: Quayside counts room. */
  queue?: string | undefined
  /** The service account of runs, which get no token of it. Default: the namespace's own. */
  serviceAccount?: string | undefined
}

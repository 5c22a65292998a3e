import { choiceOf, parseList, parseSubnets, parseText, throwExpected } from "./parse.ts"
import { setting } from "./setting.ts"

const labelForm = /^([A-Za-z0-9./_-]{1,316})=([A-Za-z0-9._-]{0,63})$/

/** Entries `name=value`. */
const parseLabels = (value: string) =>
  Object.fromEntries(
    parseList(value).map((entry) => {
      const [, name, label = ""] = labelForm.exec(entry) ?? []
      return name === undefined ? throwExpected("labels like disk=ssd,zone=a, separated by commas") : [name, label]
    }),
  )

/** `NAMESPACE/name=value,…`, or without the namespace. */
const parsePods = (value: string) => {
  const [, namespace, labels = ""] = /^(?:([a-z0-9-]{1,63})\/)?([^/=]+(?:\/[^/=]+)?=.*)$/.exec(value) ?? []
  const found = Object.entries(parseLabels(labels))
  if (found.length === 0) return throwExpected("pods by their labels, like quayside/app=quayside,role=gateway")
  return { ...(namespace !== undefined && { namespace }), labels: Object.fromEntries(found) }
}

/** Entries as `kubectl taint` writes them: `key=value:effect`, `key:effect` or `key`. */
const parseTolerations = (value: string) =>
  parseList(value).map((entry) => {
    const [, key, given, effect] =
      /^([A-Za-z0-9./_-]+)(?:=([A-Za-z0-9._-]*))?(?::(NoSchedule|PreferNoSchedule|NoExecute))?$/.exec(entry) ?? []
    if (key === undefined) return throwExpected("taints like gpu=true:NoSchedule, separated by commas")
    const matches = given === undefined ? { operator: "Exists" } : { operator: "Equal", value: given }
    return { key, ...matches, ...(effect !== undefined && { effect }) }
  })

const parseNameServers = (value: string) => (value.includes("=") ? parsePods(value) : parseSubnets(value))

type Pods = { namespace?: string; labels: Record<string, string> } | undefined

/** How runs are made on a Kubernetes cluster. They have no effect with another engine. */
export const kubernetesSettings = {
  kubernetesNamespace: setting({
    env: "KUBERNETES_NAMESPACE",
    default: "that of Quayside's own pod, or of the kubeconfig's context",
    initial: "",
    read: parseText,
    doc: "The namespace of runs.",
  }),
  kubernetesContext: setting({
    env: "KUBERNETES_CONTEXT",
    default: "the current one",
    initial: "",
    read: parseText,
    doc: "The context of the kubeconfig, outside of a cluster.",
  }),
  kubernetesVolume: setting({
    env: "KUBERNETES_VOLUME",
    default: "quayside-files",
    initial: "quayside-files",
    read: parseText,
    doc: "The volume claim with people's files, in the namespace of runs and with the access mode ReadWriteMany. Quayside itself has the same volume at `QUAYSIDE_FILES_DIR`.",
  }),
  kubernetesVolumePath: setting({
    env: "KUBERNETES_VOLUME_PATH",
    default: "/",
    initial: "/",
    read: (value) => (/^(\/[^/.][^/]*)*\/?$/.test(value) ? value : throwExpected("a path on the volume like /quayside")),
    doc: "Where on that volume the files root is.",
  }),
  kubernetesGateway: setting({
    env: "KUBERNETES_GATEWAY",
    default: "none",
    initial: undefined as Pods,
    read: parsePods,
    doc: "The pods that may connect to runs, by their labels: `quayside/app=quayside,role=gateway`. Without it, only a gateway outside of the cluster's pods reaches them.",
  }),
  kubernetesDns: setting({
    env: "KUBERNETES_DNS",
    default: "kube-system/k8s-app=kube-dns",
    initial: undefined as Pods | string[],
    read: parseNameServers,
    doc: "The name servers of runs: pods by their labels, or addresses separated by commas, such as `169.254.20.10` of a cache on each node.",
  }),
  kubernetesPullSecrets: setting({
    env: "KUBERNETES_PULL_SECRETS",
    default: "none",
    initial: [] as string[],
    read: parseList,
    doc: "Secrets in the namespace of runs with which nodes fetch images, separated by commas.",
  }),
  kubernetesNodeSelector: setting({
    env: "KUBERNETES_NODE_SELECTOR",
    default: "none",
    initial: {} as Record<string, string>,
    read: parseLabels,
    doc: "Labels of the nodes on which runs may be, separated by commas.",
  }),
  kubernetesTolerations: setting({
    env: "KUBERNETES_TOLERATIONS",
    default: "none",
    initial: [] as { key: string; operator: string; value?: string; effect?: string }[],
    read: parseTolerations,
    doc: "Taints of nodes that runs tolerate, separated by commas: `gpu=true:NoSchedule`.",
  }),
  kubernetesPriorityClass: setting({
    env: "KUBERNETES_PRIORITY_CLASS",
    default: "the cluster's",
    initial: "",
    read: parseText,
    doc: "The priority class of runs.",
  }),
  kubernetesRuntimeClass: setting({
    env: "KUBERNETES_RUNTIME_CLASS",
    default: "the cluster's",
    initial: "",
    read: parseText,
    doc: "The runtime class of runs, such as `gvisor` or `nvidia`.",
  }),
  kubernetesSeccomp: setting({
    env: "KUBERNETES_SECCOMP",
    default: "the container runtime's own profile",
    initial: "",
    read: parseText,
    doc: "The seccomp profile of runs, a file below `seccomp` in the kubelet's directory on every node, such as `quayside.json`. See [kubernetes.md](../how-to/kubernetes.md#system-calls).",
  }),
  kubernetesScheduler: setting({
    env: "KUBERNETES_SCHEDULER",
    default: "the cluster's",
    initial: "",
    read: parseText,
    doc: "The scheduler of runs, by the name in a pod's `schedulerName`.",
  }),
  kubernetesQueue: setting({
    env: "KUBERNETES_QUEUE",
    default: "none",
    initial: "",
    read: parseText,
    doc: "The LocalQueue of Kueue that admits runs, with all nodes of a run at once. Without one, Quayside waits until all of them have room.",
  }),
  kubernetesAccount: setting({
    env: "KUBERNETES_ACCOUNT",
    default: "default",
    initial: "",
    read: parseText,
    doc: "The service account of runs. They get no token of it.",
  }),
  kubernetesGpuResource: setting({
    env: "KUBERNETES_GPU_RESOURCE",
    default: "nvidia.com/gpu",
    initial: "nvidia.com/gpu",
    read: parseText,
    doc: "The resource by which the cluster counts GPUs.",
  }),
  kubernetesGpuMemoryLabel: setting({
    env: "KUBERNETES_GPU_MEMORY_LABEL",
    default: "nvidia.com/gpu.memory",
    initial: "nvidia.com/gpu.memory",
    read: parseText,
    doc: "The label of nodes with the memory of each of their GPUs in MiB.",
  }),
  kubernetesKubeletTls: setting({
    env: "KUBERNETES_KUBELET_TLS",
    default: "on",
    initial: "on" as "on" | "off",
    read: choiceOf("on", "off"),
    doc: "Whether the figures of runs are read only from kubelets whose certificate the cluster's authority signed. `off` sends Quayside's token to whoever answers at a node's address.",
  }),
} as const

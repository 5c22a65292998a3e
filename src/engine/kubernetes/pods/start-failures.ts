import type { V1Pod } from "@kubernetes/client-node"
import { reasonMessages } from "#contract"
import { EngineError, type NodeCapacity, type RunSpec } from "../../engine.ts"
import { gpuCountOf } from "./pod-manifest.ts"
import { containerOf } from "./pod-state.ts"

/**
 * Failures that pass on a node under load: the kubelet tries again by itself. Source: folder
 * `pkg/kubelet/util/manager` of Kubernetes ("failed to sync secret cache").
 */
const passing = /failed to sync \w+ cache|timed out waiting|context deadline exceeded/i

/** Throws if a pod cannot start any more, with the reason that a person understands. */
export function assertCanStart(pod: V1Pod, spec: RunSpec): void {
  const { waiting, terminated } = containerOf(pod)?.state ?? {}
  const detail = waiting?.message ?? terminated?.message ?? pod.status?.message ?? ""
  switch (waiting?.reason) {
    case "ErrImageNeverPull":
      throw new EngineError("image_not_found", `The image ${spec.image} is not on the node, and may not be fetched`, { detail })
    case "InvalidImageName":
      throw new EngineError("image_not_found", `${spec.image} is no name of an image`, { detail })
    case "ErrImagePull":
    case "ImagePullBackOff":
    case "ImageInspectError":
    case "RegistryUnavailable":
    case "SignatureValidationFailed":
      throwPullFailure(spec, { detail, isFinal: waiting.reason !== "ErrImagePull" })
      break
    case "CreateContainerConfigError":
    case "CreateContainerError":
      if (passing.test(detail)) return
      throw configFailure(spec, detail)
    case "RunContainerError":
      throw programFailure(detail)
    case "CrashLoopBackOff":
      throw new EngineError("exited", reasonMessages.exited, { detail })
  }
  if (terminated?.reason === "StartError" || terminated?.reason === "ContainerCannotRun") throw programFailure(detail)
  if (!terminated && pod.status?.phase === "Failed") throw nodeFailure(pod)
}

/** The first failure of a pull may be a lost connection: the kubelet tries once more. */
function throwPullFailure({ image }: RunSpec, { detail, isFinal }: { detail: string; isFinal: boolean }): void {
  if (/no match for platform|exec format|no matching manifest/i.test(detail))
    throw new EngineError("wrong_architecture", reasonMessages.wrong_architecture, { detail })
  if (/not found|manifest unknown|name unknown|does not exist|repository name not known/i.test(detail))
    throw new EngineError("image_not_found", `The registry has no image ${image}`, { detail })
  if (/unauthorized|denied|forbidden|authorization failed|401|403|no basic auth/i.test(detail))
    throw new EngineError("image_pull_denied", `The registry did not hand out the image ${image}`, { detail })
  if (/no space left on device/i.test(detail)) throw new EngineError("disk_full", reasonMessages.disk_full, { detail })
  if (isFinal) throw new EngineError("image_pull_failed", `The image ${image} could not be fetched by the node`, { detail })
}

function configFailure(spec: RunSpec, detail: string): EngineError | never {
  if (/subpath/i.test(detail)) {
    const named = spec.mounts.find(({ source }) => detail.includes(source))
    const what = named ? `The directory ${named.source}, to be mounted at ${named.target},` : "A directory that should be mounted"
    return new EngineError("mount_missing", `${what} is not a directory of its own below the files root`, { detail })
  }
  if (/seccomp/i.test(detail)) return new EngineError("engine_error", "The node lacks the seccomp profile of runs", { detail })
  if (/executable file not found|no such file or directory|permission denied/i.test(detail)) return programFailure(detail)
  if (/no space left on device/i.test(detail)) return new EngineError("disk_full", reasonMessages.disk_full, { detail })
  return new EngineError("engine_error", "The node could not create the container", { detail })
}

/** The runtime's words name the program in quotes. */
function programFailure(detail: string): EngineError {
  if (/exec format error/i.test(detail)) return new EngineError("wrong_architecture", reasonMessages.wrong_architecture, { detail })
  const program = /exec: "([^"]{1,200})"/.exec(detail)?.[1]
  if (program !== undefined && /permission denied/i.test(detail))
    return new EngineError("command_not_found", `The program ${JSON.stringify(program)} of the image is not executable`, { detail })
  if (program !== undefined || /executable file not found|no such file or directory/i.test(detail)) {
    const msg = program === undefined ? reasonMessages.command_not_found : `The image has no program ${JSON.stringify(program)}`
    return new EngineError("command_not_found", msg, { detail })
  }
  return new EngineError("engine_error", "The node could not start the program", { detail })
}

/** The kubelet refused a pod that the scheduler had given to it. */
function nodeFailure({ status }: V1Pod): EngineError {
  const detail = `${status?.reason}: ${status?.message}`
  switch (status?.reason) {
    case "OutOfcpu":
      return new EngineError("insufficient_cpu", "The node that was chosen has no CPUs left", { detail })
    case "OutOfmemory":
      return new EngineError("insufficient_memory", "The node that was chosen has no memory left", { detail })
    case "Evicted":
      return new EngineError("evicted", reasonMessages.evicted, { detail })
    case "UnexpectedAdmissionError":
      return new EngineError("insufficient_gpu", "The node that was chosen could not hand out its devices", { detail })
    default:
      return new EngineError("engine_error", "The node that was chosen refused the run", { detail })
  }
}

/** The scheduler's words while it finds no node; undefined once it found one. */
export function unschedulableMessage({ status }: V1Pod): string | undefined {
  const condition = status?.conditions?.find(({ type }) => type === "PodScheduled")
  return condition?.status === "False" && condition.reason === "Unschedulable" ? (condition.message ?? "no node fits") : undefined
}

/** The reason why no node could run it even if it were empty; undefined if one could. */
export function neverSchedulableError(spec: RunSpec, nodes: readonly NodeCapacity[], said: string): EngineError | undefined {
  if (nodes.length === 0) return undefined
  const gpus = gpuCountOf(spec)
  const fits = (node: NodeCapacity) => node.cpus >= spec.cpus && node.memoryMiB >= spec.memoryMiB && node.gpus.length >= gpus
  if (nodes.some(fits)) return undefined
  const options = { detail: said }
  const most = (of: (node: NodeCapacity) => number) => Math.max(...nodes.map(of))
  const cpus = most((node) => node.cpus)
  if (spec.cpus > cpus)
    return new EngineError("insufficient_cpu", `No node has ${spec.cpus} CPUs for runs; the largest has ${cpus}`, options)
  const memory = most((node) => node.memoryMiB)
  if (spec.memoryMiB > memory)
    return new EngineError("insufficient_memory", `No node has ${spec.memoryMiB} MiB for runs; the largest has ${memory} MiB`, options)
  const devices = most((node) => node.gpus.length)
  if (gpus > devices) return new EngineError("insufficient_gpu", `No node has ${gpus} GPUs; the largest has ${devices}`, options)
  return new EngineError("insufficient_memory", "No single node has all of what was asked for together", options)
}

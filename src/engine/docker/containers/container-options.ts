import type Dockerode from "dockerode"
import { bounds } from "#contract"
import { homeDirectory, memoryDirectories } from "../../containers/run-directories.ts"
import type { RunSpec } from "../../engine.ts"
import { isMockGpu } from "../../gpus/mock-gpus.ts"
import type { PinnedMount } from "../mounts/mount-pins.ts"
import { diskLimitLabel, runLabels } from "./labels.ts"

const { processes, memoryFiles, logFileMiB, logFiles } = bounds.containers

const tmpfsShare = memoryFiles.value / 100
/**
 * A tenth of what a service of systemd has. With its cgroups, containers are beside Quayside and
 * the daemon, and would share the processors with them as equals.
 */
const sharesPerCpu = 102

export interface ContainerOptions {
  spec: RunSpec
  /** The image's digest, since the spec's reference may now lead elsewhere. */
  imageId: string
  instance: string
  network: string
  /** The container's address on that network. */
  address: string
  uid: number
  gid: number
  mounts: readonly PinnedMount[]
  /** Limit per process; undefined: the daemon's default. */
  openFiles: number | undefined
  /** Limit on the container's own file system, by the daemon's accounting; undefined: none. */
  diskBytes: number | undefined
  /** The allowed system calls, from `loadSeccompProfile`. */
  seccomp: string
}

/**
 * Options of a container that is inspected but never started: it contains nothing but the image.
 */
export function unstartedContainerOptions({ spec, imageId, instance }: Pick<ContainerOptions, "spec" | "imageId" | "instance">) {
  return { Image: imageId, Cmd: ["-"], Labels: runLabels(spec, instance), NetworkDisabled: true, HostConfig: { NetworkMode: "none" } }
}

/**
 * The options of a run's container. No setting of a person weakens them: no capabilities, no new
 * privileges, no host ports, and only the granted devices.
 */
export function containerOptions(options: ContainerOptions): Dockerode.ContainerCreateOptions {
  const { spec, imageId, instance, uid, gid } = options
  const isBound = options.diskBytes !== undefined && spec.diskMiB !== undefined
  return {
    Hostname: containerHostName(spec.key),
    User: `${uid}:${gid}`,
    Image: imageId,
    ...(spec.entryPoint !== undefined && { Entrypoint: [...spec.entryPoint] }),
    ...(spec.command.length > 0 && { Cmd: [...spec.command] }),
    Env: Object.entries(environmentOf(spec)).map(([name, value]) => `${name}=${value}`),
    ...(spec.workDir !== undefined && { WorkingDir: spec.workDir }),
    Labels: { ...runLabels(spec, instance), ...diskLimitLabel(isBound ? (spec.diskMiB ?? 0) : null) },
    Healthcheck: { Test: ["NONE"] },
    HostConfig: hostConfig(options),
    NetworkingConfig: { EndpointsConfig: { [options.network]: { IPAMConfig: { IPv4Address: options.address } } } },
  }
}

function hostConfig({ spec, network, uid, gid, mounts, openFiles, diskBytes, seccomp }: ContainerOptions): Dockerode.HostConfig {
  const memory = spec.memoryMiB * 2 ** 20
  return {
    NetworkMode: network,
    Init: true,
    IpcMode: "private",
    CapDrop: ["ALL"],
    SecurityOpt: ["no-new-privileges", `seccomp=${seccomp}`],
    ReadonlyRootfs: !spec.writableRoot,
    PidsLimit: processes.value,
    // No limit on processes here: the kernel counts processes over all runs' user, the cgroup
    // counts them per run.
    Ulimits: [
      { Name: "core", Soft: 0, Hard: 0 },
      ...(openFiles === undefined ? [] : [{ Name: "nofile", Soft: openFiles, Hard: openFiles }]),
    ],
    Memory: memory,
    MemorySwap: memory,
    // A quota, not NanoCpus: the daemon rejects NanoCpus beyond the machine's, which an
    // overcommitted run may request.
    CpuPeriod: 100_000,
    CpuQuota: spec.cpus * 100_000,
    CpuShares: spec.cpus * sharesPerCpu,
    ShmSize: Math.floor(memory * tmpfsShare),
    OomScoreAdj: 500,
    Tmpfs: tmpfs(spec, uid, gid),
    Mounts: mounts.map(mountConfig),
    ...(diskBytes !== undefined && { StorageOpt: { size: String(diskBytes) } }),
    LogConfig: { Type: "json-file", Config: { "max-size": `${logFileMiB.value}m`, "max-file": String(logFiles.value) } },
    // An ended program stays ended. A container is never started twice, so its pinned mounts need
    // not outlive its start.
    RestartPolicy: { Name: "no" },
    ...gpuRequest(spec),
  }
}

/**
 * NVIDIA's runtime reads the devices from its variable: images that set it to `all` would get the
 * GPUs of other runs.
 */
function environmentOf(spec: RunSpec): Record<string, string> {
  const devices = spec.gpus.filter((id) => !isMockGpu(id))
  const nvidia = { NVIDIA_VISIBLE_DEVICES: devices.length > 0 ? devices.join(",") : "void" }
  return { HOME: homeDirectory(spec), USER: spec.user, ...spec.env, ...nvidia }
}

function containerHostName(key: string): string {
  return `run-${key.slice(0, 12)}`
}

/** Each directory in memory is limited to a part of the run's memory. */
function tmpfs(spec: RunSpec, uid: number, gid: number): Record<string, string> {
  // `/tmp` needs the owner as well: if the image has the directory, its mode there overrides
  // `mode`.
  const common = `rw,exec,nosuid,nodev,size=${Math.ceil(spec.memoryMiB * tmpfsShare)}m,uid=${uid},gid=${gid}`
  return Object.fromEntries([...memoryDirectories(spec)].map(([path, mode]) => [path, `${common},mode=${mode}`]))
}

function mountConfig({ path, target, readOnly }: PinnedMount): Dockerode.MountConfig[number] {
  return {
    Type: "bind",
    Source: path,
    Target: target,
    ReadOnly: readOnly,
    BindOptions: { Propagation: "rprivate", ...({ NonRecursive: true } as object) },
  }
}

function gpuRequest(spec: RunSpec): Partial<Dockerode.HostConfig> {
  const devices = spec.gpus.filter((id) => !isMockGpu(id))
  if (devices.length === 0) return {}
  return { DeviceRequests: [{ Driver: "nvidia", DeviceIDs: devices, Capabilities: [["gpu"]] }] }
}

import type Dockerode from "dockerode"
import { bounds } from "#contract"
import type { RunSpec } from "../../engine.ts"
import { isMockGpu } from "../../mock-gpus.ts"
import type { PinnedMount } from "../mounts/mount-pins.ts"
import { diskLabel, labelsOf } from "./labels.ts"

const { processes, memoryFiles, logFileMiB, logFiles } = bounds.containers

const memoryPart = memoryFiles.value / 100

export interface ContainerOptions {
  spec: RunSpec
  /** Digest of the image that the spec's reference led to: it may lead elsewhere by now. */
  imageId: string
  instance: string
  network: string
  /** There. */
  address: string
  uid: number
  gid: number
  mounts: readonly PinnedMount[]
  /** Of each process; undefined: as the daemon has it. */
  openFiles: number | undefined
  /**
   * Bytes that the container's own file system may take, in the daemon's own reckoning; undefined:
   * all there are.
   */
  diskBytes: number | undefined
  /** The system calls that it may make, as `seccompProfile` has them. */
  seccomp: string
}

/**
 * A container of the run's that is made to be looked at, and never started: it has nothing but the
 * image.
 */
export function probeContainerOptions({ spec, imageId, instance }: Pick<ContainerOptions, "spec" | "imageId" | "instance">) {
  return { Image: imageId, Cmd: ["-"], Labels: labelsOf(spec, instance), NetworkDisabled: true, HostConfig: { NetworkMode: "none" } }
}

/**
 * All that a run's container is made from. Nothing a person chose weakens it: no capability, no new
 * privilege, no port of the host, no device but the granted.
 */
export function containerOptions(options: ContainerOptions): Dockerode.ContainerCreateOptions {
  const { spec, imageId, instance, uid, gid } = options
  const isBound = options.diskBytes !== undefined && spec.diskMiB !== undefined
  return {
    Hostname: hostName(spec.key),
    User: `${uid}:${gid}`,
    Image: imageId,
    ...(spec.command.length > 0 && { Cmd: [...spec.command] }),
    Env: Object.entries({ HOME: homeDirectory(spec), USER: spec.user, ...spec.env }).map(([name, value]) => `${name}=${value}`),
    ...(spec.workDir !== undefined && { WorkingDir: spec.workDir }),
    Labels: { ...labelsOf(spec, instance), ...(isBound && diskLabel(spec.diskMiB ?? 0)) },
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
    // None on processes: the kernel counts them for all runs' user together, the cgroup for each
    // run.
    Ulimits: [
      { Name: "core", Soft: 0, Hard: 0 },
      ...(openFiles === undefined ? [] : [{ Name: "nofile", Soft: openFiles, Hard: openFiles }]),
    ],
    Memory: memory,
    MemorySwap: memory,
    // A quota, not NanoCpus: the daemon refuses NanoCpus beyond what the machine has, which an
    // overcommitted run may ask for.
    CpuPeriod: 100_000,
    CpuQuota: spec.cpus * 100_000,
    ShmSize: Math.floor(memory * memoryPart),
    OomScoreAdj: 500,
    Tmpfs: tmpfs(spec, uid, gid),
    Mounts: mounts.map(mountConfig),
    ...(diskBytes !== undefined && { StorageOpt: { size: String(diskBytes) } }),
    LogConfig: { Type: "json-file", Config: { "max-size": `${logFileMiB.value}m`, "max-file": String(logFiles.value) } },
    // A program that ended has ended; a container is never started a second time, so that its
    // pinned mounts need not outlive its start.
    RestartPolicy: { Name: "no" },
    ...gpuRequest(spec),
  }
}

/** The home directory as the program and its `/etc/passwd` see it. */
export function homeDirectory(spec: RunSpec): string {
  return spec.env.HOME ?? `/home/${spec.user}`
}

export function hostName(key: string): string {
  return `run-${key.slice(0, 12)}`
}

/**
 * Directories in memory, counted as the run's: `/tmp`, and the home where no mount is. Each at most
 * a part of the run's memory.
 */
function tmpfs(spec: RunSpec, uid: number, gid: number): Record<string, string> {
  // The owner is given for `/tmp` as well: where the image has the directory, its mode there wins
  // over `mode`.
  const common = `rw,exec,nosuid,nodev,size=${Math.ceil(spec.memoryMiB * memoryPart)}m,uid=${uid},gid=${gid}`
  const home = homeDirectory(spec)
  const homeIsMounted = spec.mounts.some(({ target }) => home === target || home.startsWith(`${target}/`))
  const tmp = spec.mounts.some(({ target }) => target === "/tmp") ? {} : { "/tmp": `${common},mode=1777` }
  return homeIsMounted || home === "/tmp" ? tmp : { ...tmp, [home]: `${common},mode=0700` }
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

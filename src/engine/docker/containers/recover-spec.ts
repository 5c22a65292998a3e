import type Dockerode from "dockerode"
import type { RecoveredSpec } from "../../engine.ts"
import { containerIdentityOf, specFromLabels } from "./labels.ts"

/** The inverse of `containerOptions`. Undefined for a container that Quayside did not create. */
export function recoverSpec({ Config, HostConfig }: Dockerode.ContainerInspectInfo): RecoveredSpec | undefined {
  const identity = containerIdentityOf(Config.Labels)
  if (!identity) return undefined
  const { key, run, project, user, gpuDevices } = identity
  const variables = Config.Env.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)])
  return {
    key,
    run,
    project,
    user,
    ...specFromLabels(Config.Labels),
    ...(Config.Entrypoint && { entryPoint: [Config.Entrypoint].flat() }),
    command: Config.Cmd ?? [],
    env: Object.fromEntries(variables),
    cpus: Math.max(1, Math.round((HostConfig.CpuQuota ?? 0) / (HostConfig.CpuPeriod || 100_000))),
    memoryMiB: Math.round((HostConfig.Memory ?? 0) / 2 ** 20),
    gpus: gpuDevices,
    nodes: 1,
    workDir: Config.WorkingDir,
    writableRoot: HostConfig.ReadonlyRootfs !== true,
  }
}

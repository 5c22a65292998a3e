import type { DockerOptions } from "./docker/docker-options.ts"
import type { Engine } from "./engine.ts"
import type { FakeDaemon, FakeDaemonOptions } from "./fake/fake-daemon.ts"
import type { FakeEngineOptions } from "./fake/fake-engine-options.ts"
import type { KubernetesOptions } from "./kubernetes/kubernetes-options.ts"

export type EngineOptions =
  | ({ kind: "docker" } & DockerOptions)
  | ({ kind: "kubernetes" } & KubernetesOptions)
  | ({ kind: "fake" } & FakeEngineOptions)

/**
 * Creates an engine. Only the chosen adapter's code is loaded; Docker's client is loaded by the
 * first call that needs it.
 */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  if (options.kind === "fake") {
    const { FakeEngine } = await import("./fake/fake-engine.ts")
    return new FakeEngine(options)
  }
  if (options.kind === "kubernetes") {
    const { createKubernetesEngine } = await import("./kubernetes/kubernetes-engine.ts")
    return createKubernetesEngine(options)
  }
  const { createDockerEngine } = await import("./docker/docker-engine.ts")
  return createDockerEngine(options)
}

/**
 * Opens a fake daemon, which outlives the engines created on it. With `stateDir` its containers
 * also outlive the process.
 */
export async function openFakeDaemon(options: FakeDaemonOptions = {}): Promise<FakeDaemon> {
  const { FakeDaemon } = await import("./fake/fake-daemon.ts")
  return FakeDaemon.open(options)
}

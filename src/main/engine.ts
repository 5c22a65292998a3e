import { join } from "node:path"
import { createEngine, type Engine, EngineError, IsolationError, type MakeRoom, openFakeDaemon, type RegistryAllowlist } from "#engine"
import { createPullRecorder } from "#images"
import type { Clock, Logger } from "#kit"
import type { Store } from "#store"
import { SettingError } from "./settings/setting.ts"
import type { Settings } from "./settings/settings.ts"

/** How long the server answers requests before it sets up the isolation. */
const firstAnswersMs = 25

/** Isolation pins mounts and changes the owner of files: both need root. */
export function assertCanIsolate({ isolation, engine }: Settings): void {
  if (engine === "kubernetes") {
    if (isolation === "off") throw new SettingError("QUAYSIDE_ISOLATION=off is not for Kubernetes, where runs are always isolated")
    if (process.getuid?.() !== 0)
      throw new SettingError(
        "On Kubernetes the supervisor needs to be root, with CHOWN, FOWNER and DAC_OVERRIDE, to protect the paths of mounts",
      )
    return
  }
  if (isolation === "on" && engine === "docker" && process.getuid?.() !== 0) {
    throw new SettingError(
      "Isolation needs root, to pin mounts: start as root, or with QUAYSIDE_ISOLATION=off if one trusted person uses this machine",
    )
  }
}

/** An administrator who requires real GPUs must not get simulated ones, or none. */
export function assertGpuSettings({ gpus, mockGpus, engine }: Settings): void {
  if (gpus !== "nvidia" || (mockGpus === 0 && engine === "docker")) return
  const other = mockGpus > 0 ? `QUAYSIDE_MOCK_GPUS=${mockGpus}` : `QUAYSIDE_ENGINE=${engine}`
  throw new SettingError(`QUAYSIDE_GPUS=nvidia requires real GPUs, and ${other} has none: remove one of the two settings`)
}

/** The engine that the settings name. `stack` owns whatever must be disposed of beside it. */
export async function createConfiguredEngine(made: {
  settings: Settings
  dataDir: string
  filesRoot: string
  store: Store
  registries: RegistryAllowlist
  clock: Clock
  logger: Logger
  /** As in `DockerOptions`. */
  isLeader: () => boolean
  /** As in `DockerOptions`. */
  makeRoom: MakeRoom
  gpuToolPath: string | undefined
  stack: AsyncDisposableStack
}): Promise<Engine> {
  const { isLeader, makeRoom, gpuToolPath, settings, dataDir, filesRoot, store, registries, clock, logger, stack } = made
  const { instance } = store
  const onPull = createPullRecorder({ store, logger })
  if (settings.engine === "fake") {
    const daemon = stack.use(await openFakeDaemon({ stateDir: join(dataDir, "fake-engine"), clock }))
    return createEngine({
      kind: "fake",
      daemon,
      instance,
      filesRoot,
      mockGpus: settings.mockGpus,
      registries,
      maxImageBytes: settings.maxImageSize,
      onPull,
    })
  }
  if (settings.engine === "kubernetes") {
    const options = { ...kubernetesOptions(settings), instance, filesRoot, registries, isLeader, clock, logger }
    return createEngine({ kind: "kubernetes", ...options }).catch((error: unknown) => refuse(error, logger))
  }
  return createEngine({
    kind: "docker",
    ...(settings.dockerSocket === "" ? {} : { socketPath: settings.dockerSocket }),
    instance,
    filesRoot,
    stagingDir: join(dataDir, "mounts"),
    isolation: settings.isolation,
    networkPool: settings.networkPool,
    internet: settings.internet === "on",
    groupInternet: settings.groupInternet,
    allow: settings.networkAllow,
    deny: settings.networkDeny,
    uid: settings.runUid,
    gpus: settings.gpus,
    mockGpus: settings.mockGpus,
    ...(gpuToolPath === undefined ? {} : { gpuToolPath }),
    registries,
    maxImageBytes: settings.maxImageSize,
    seccompFile: settings.seccomp,
    ...{ onPull, makeRoom, isLeader },
    clock,
    logger,
  }).catch((error: unknown) => refuse(error, logger))
}

function kubernetesOptions(settings: Settings) {
  const given = <T>(value: T, isGiven: boolean) => (isGiven ? value : undefined)
  const text = (value: string) => given(value, value !== "")
  return {
    namespace: text(settings.kubernetesNamespace),
    context: text(settings.kubernetesContext),
    volume: settings.kubernetesVolume,
    volumePath: settings.kubernetesVolumePath,
    gateway: settings.kubernetesGateway,
    dns: settings.kubernetesDns,
    pods: {
      pullSecrets: settings.kubernetesPullSecrets,
      nodeSelector: settings.kubernetesNodeSelector,
      tolerations: settings.kubernetesTolerations,
      priorityClass: text(settings.kubernetesPriorityClass),
      runtimeClass: text(settings.kubernetesRuntimeClass),
      seccompProfile: text(settings.kubernetesSeccomp),
      serviceAccount: text(settings.kubernetesAccount),
      scheduler: text(settings.kubernetesScheduler),
      queue: text(settings.kubernetesQueue),
    },
    gpuResource: settings.kubernetesGpuResource,
    gpuMemoryLabel: settings.kubernetesGpuMemoryLabel,
    kubeletTls: settings.kubernetesKubeletTls,
    cpuOvercommit: settings.cpuOvercommit,
    memoryOvercommit: settings.memoryOvercommit,
    internet: settings.internet === "on",
    groupInternet: settings.groupInternet,
    allow: settings.networkAllow,
    deny: settings.networkDeny,
    uid: settings.runUid,
    maxImageBytes: settings.maxImageSize,
  }
}

/**
 * The very first start confines runs at once: if it cannot, it must not print a password. A later
 * one resolves with a function that does so once the server answers, because spawning the
 * firewall's tools would delay the first answers.
 */
export async function startIsolation({ store, engine, clock, logger }: { store: Store; engine: Engine; clock: Clock; logger: Logger }) {
  const isFirst = (await store.users.count()) === 0
  if (isFirst) await confine(engine, logger)
  return async () => {
    if (isFirst) return
    await clock.sleep(firstAnswersMs)
    await confine(engine, logger)
  }
}

/**
 * An administrator must provide what the engine lacks at the start: the error is no fault of the
 * program.
 */
async function confine(engine: Engine, logger: Logger): Promise<void> {
  await engine.prepare().catch((error: unknown) => refuse(error, logger))
}

function refuse(error: unknown, logger: Logger): never {
  if (!(error instanceof EngineError)) throw error
  if (error.detail !== undefined) logger.warn({ detail: error.detail }, "the engine refused")
  const isolated = error instanceof IsolationError
  const remedy = isolated ? ": provide it, or start with QUAYSIDE_ISOLATION=off if one trusted person uses this machine" : ""
  throw new SettingError(`${error.message}${remedy}`)
}

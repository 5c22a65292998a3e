import { type Engine, type MakeRoom, RegistryAllowlist } from "#engine"
import type { Files, FileTree } from "#files"
import { createImages, type Images } from "#images"
import { checkTrustedDigest, finishInterruptedTransfers, prepareRunDirectories, replanRun, startGrantExpiry } from "#projects"
import { openRuns, type RunSettingsOptions, type Runs, type StorageMeter } from "#runs"
import type { Store } from "#store"
import { runEvents, runSettings } from "../component-options.ts"
import { createConfiguredEngine, startIsolation } from "../engine.ts"
import { createImageOwnerLookup, createImagePolicy } from "../image-policy.ts"
import { readRegistryCredentials } from "../registry-credentials.ts"
import { warnAboutLoginAccount } from "../run-user.ts"
import type { BaseComponents, ComposeOptions, FileComponents, LateComponents, RunComponents, StartContext } from "./context.ts"

/**
 * On SQLite, no other process can have moves under way, so the start waits until all are finished.
 */
async function finishMoves({ clock, logger, stack }: StartContext, { store, tree }: { store: Store; tree: FileTree }): Promise<void> {
  const stopping = new AbortController()
  stack.defer(() => stopping.abort())
  const finished = finishInterruptedTransfers({ store, tree, clock, logger }, stopping.signal).catch((err) =>
    logger.warn({ err }, "interrupted moves were not finished"),
  )
  if (store.dialect === "sqlite") await finished
}

interface RunParts extends BaseComponents {
  engine: Engine
  registries: RegistryAllowlist
  files: FileComponents | undefined
}

export interface OpenedEngine {
  engine: Engine
  registries: RegistryAllowlist
  /** Called when this process answers already. */
  finishIsolation: (() => Promise<void>) | undefined
}

/** The engine, which confines runs before the very first start of an installation. */
export async function openEngine(
  context: StartContext,
  { store }: BaseComponents,
  { options: { gpuToolPath }, late }: { options: ComposeOptions; late: LateComponents },
): Promise<OpenedEngine> {
  const registries = new RegistryAllowlist({ allowed: context.settings.registries })
  // The runs of a process that is alone go on while it starts.
  const isLeader = () => late.runs?.isLeader() ?? store.notices === undefined
  const makeRoom: MakeRoom = async (request) => late.images?.makeRoom(request)
  const engine = context.stack.use(await createConfiguredEngine({ ...context, store, registries, isLeader, makeRoom, gpuToolPath }))
  const finishIsolation = context.roles.has("supervisor") ? await startIsolation({ ...context, store, engine }) : undefined
  return { engine, registries, finishIsolation }
}

export async function openRunComponents(
  context: StartContext,
  base: RunParts,
  { options, late }: { options: ComposeOptions; late: LateComponents },
): Promise<RunComponents> {
  const { settings, clock, logger, stack, roles } = context
  const { store, events, engine, registries, files } = base
  const images = stack.use(
    createImages({
      engine,
      store,
      events,
      registries,
      credentials: readRegistryCredentials(settings.registryCredentials),
      ownerOf: createImageOwnerLookup({ store, clock }),
      pruneRules: { days: settings.pruneImagesDays, maxBytes: settings.pruneImagesSize },
      isLeader: () => late.runs?.isLeader() ?? false,
      clock,
      logger,
    }),
  )
  if (roles.has("supervisor") && files) {
    await finishMoves(context, { store, tree: files.tree })
    stack.use(startGrantExpiry({ store, events, clock, logger }))
  }
  const runs = await createRuns(context, { ...base, images }, options.supervision)
  late.images = images
  late.runs = runs
  return { engine, images, runs }
}

async function createRuns(
  context: StartContext,
  components: RunParts & { images: Images },
  supervision: RunSettingsOptions = {},
): Promise<Runs> {
  const { settings, roles, dataDir, clock, logger, stack } = context
  const { store, engine, events, images, files, quotas } = components
  const internetGroups = settings.groupInternet.map(({ group }) => group)
  const mode = !roles.has("supervisor") ? "never" : store.dialect === "sqlite" ? "alone" : "leased"
  return stack.use(
    await openRuns({
      store,
      engine,
      clock,
      logger,
      events: runEvents(events),
      settings: { ...runSettings(settings, context.urls, dataDir), ...supervision },
      supervision: {
        mode,
        admitsRuns: roles.has("api") || roles.has("supervisor"),
        onElected: () => prepareSupervision(engine, images),
      },
      imagePolicy: createImagePolicy({ store, images, clock }),
      onImageUse: images.recordUse,
      checkTrust: (run, { registryDigest }) => checkTrustedDigest({ store, events }, run, registryDigest),
      replan: (reads, run) => replanRun({ clock, internetGroups }, reads, run),
      ...(files && {
        prepareDirectories: (run, options) => prepareRunDirectories({ store, tree: files.tree, events, clock, logger }, run, options),
        storage: { quotas, meter: storageMeter(files.starting) },
      }),
    }),
  )
}

async function prepareSupervision(engine: Engine, images: Images): Promise<void> {
  await engine.prepare()
  images.recheckKept()
}

function storageMeter(starting: Promise<Files>): StorageMeter {
  return {
    diskSpace: async () => (await starting).diskSpace(),
    count: async (account, maxBytes) => (await starting).countStorage(account, maxBytes),
    hasQuotas: async () => (await starting).hasQuotas,
  }
}

export async function superviseRuns({ settings, roles, logger }: StartContext, { runs, images }: RunComponents): Promise<void> {
  const isSupervisor = roles.has("supervisor")
  if (isSupervisor && settings.engine === "docker" && settings.isolation === "on") await warnAboutLoginAccount(settings.runUid, logger)
  runs.startSupervisor()
  if (isSupervisor) images.startKeeping()
}

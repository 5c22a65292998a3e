import { isDeepStrictEqual } from "node:util"
import { EngineError, type ObservedRun, type RecoveredSpec } from "#engine"
import { type Change, DuplicateError, type ProjectRow, type RunPlan, type RunRow, type UserRow } from "#store"
import { startAndExpiryTimes } from "../admission/queue.ts"
import type { RunsContext } from "../context.ts"
import { loadLimits } from "../limits/effective-limits.ts"
import { searchEntryPoint } from "../programs/program-search.ts"
import { ruleOfType } from "../project-types.ts"

/**
 * Adopts a running container without a row under its own ID, as after a restored backup. Its person
 * and project must exist, and its ID, project and devices be free. Resolves with whether it was
 * adopted; rejects with `engine_unreachable`. Its program continues. Fields that the container does
 * not tell are those of the project as it is now.
 */
export async function adoptContainer(ctx: RunsContext, seen: ObservedRun): Promise<boolean> {
  try {
    const spec = seen.state === "running" ? await ctx.engine.recoverSpec(seen.key, ctx.closed) : undefined
    if (!spec) return false
    return (await ctx.change((tx) => insertAdopted(ctx, tx, { seen, spec }))) !== undefined
  } catch (error) {
    // An unreachable engine says nothing: the container is examined again later.
    const isRejected = error instanceof DuplicateError || (error instanceof EngineError && error.code !== "engine_unreachable")
    if (isRejected) return false
    throw error
  }
}

interface AdoptableContainer {
  seen: ObservedRun
  spec: RecoveredSpec
}

async function insertAdopted(ctx: RunsContext, tx: Change, { seen, spec }: AdoptableContainer): Promise<RunRow | undefined> {
  const [person, project] = await Promise.all([tx.users.byName(spec.user), tx.projects.get(spec.project)])
  if (!person || person.deletedAt !== null || person.isDisabled || !project || project.deletedAt !== null) return undefined
  if ((await tx.runs.get(spec.run)) || (await tx.runs.byKey(spec.key)) || (await tx.runs.liveOf(person.id, project.id))) return undefined
  const admitted = await tx.runs.admitted()
  if (admitted.some(({ gpuDevices }) => gpuDevices.some((device) => spec.gpus.includes(device)))) return undefined
  const { limits } = await loadLimits(tx, [person.id], ctx.settings.defaultLimits)
  const row = rowOf({ seen, spec, person, project })
  const run = await tx.runs.insertAs(spec.run, {
    ...row,
    ...startAndExpiryTimes(row.spec, limits.get(person.id), seen.startedAt ?? ctx.clock.now()),
  })
  await ctx.events.stateChanged(tx, run, undefined)
  tx.afterCommit(() => {
    ctx.logger.warn({ run: run.id, key: run.key, user: run.userName }, "an orphaned container was adopted from its labels")
    ctx.runCache.publish(run)
  })
  return run
}

function rowOf({ seen, spec, person, project }: AdoptableContainer & { person: UserRow; project: ProjectRow }) {
  return {
    key: spec.key,
    projectId: project.id,
    userId: person.id,
    state: "starting" as const,
    wanted: "run" as const,
    reason: null,
    progress: null,
    spec: planOf(spec, project),
    nodes: spec.nodes,
    cpus: spec.cpus,
    memoryMiB: spec.memoryMiB,
    gpus: spec.gpuRequest?.count ?? spec.gpus.length,
    gpuMemoryMiB: spec.gpuRequest?.memoryMiB ?? 0,
    readyTime: null,
    endTime: null,
    lastActivity: null,
    idleEndsAt: null,
    nodeNames: seen.nodeNames,
    gpuDevices: [...spec.gpus],
    imageDigest: seen.imageDigest,
    registryDigest: "",
  }
}

function planOf(spec: RecoveredSpec, { type }: ProjectRow): RunPlan {
  const { tokenVariable, program } = ruleOfType(type)
  const isSearched = program !== null && isDeepStrictEqual(spec.entryPoint, searchEntryPoint(program))
  const { HOME = "", ...env } = spec.env
  return {
    type,
    image: spec.image,
    command: isSearched ? null : spec.command,
    env,
    port: spec.port || null,
    workDir: spec.workDir ?? "",
    home: HOME,
    mounts: spec.mounts,
    secret: (tokenVariable === null ? undefined : env[tokenVariable]) ?? "",
  }
}

import { Failure } from "#contract"
import { EngineError } from "#engine"
import { type NodeUsage, remainingResourcesOf } from "#runs"
import type { HandlerResult, Handlers, OperationContext, Services } from "../../context.ts"
import { toLimitsResponse } from "../../responses/limits.ts"
import { fromMiB, fromMiBRoundedDown } from "../../units.ts"

/** The capacity of the nodes, the resources that the caller's limits leave them, and defaults. */
async function readCapacity(context: OperationContext<"readCapacity">): Promise<HandlerResult<"readCapacity">> {
  const { services } = context
  const nodes = await services.runs.nodeUsage().catch((error: unknown) => {
    if (error instanceof EngineError) throw new Failure("engine_unreachable", error.message, { cause: error })
    throw error
  })
  return {
    nodes: await Promise.all(nodes.map((node) => toNodeResponse(context, node))),
    you: await toOwnCapacity(services, context.caller),
    defaults: toDefaults(services),
  }
}

async function toNodeResponse(context: OperationContext<"readCapacity">, node: NodeUsage) {
  const { settings } = context.services
  const inUnit = (amount: { total: number; free: number }) => ({
    total: fromMiBRoundedDown(amount.total, settings.memoryUnit),
    free: fromMiBRoundedDown(amount.free, settings.memoryUnit),
  })
  const shown = await shownRuns(context, node)
  return {
    Name: node.name,
    Cpus: node.cpus,
    Memory: inUnit(node.memoryMiB),
    Gpus: node.gpus,
    Devices: node.devices.map(({ id, model, memoryMiB, runId }) => ({
      ID: id,
      Model: model,
      Memory: fromMiBRoundedDown(memoryMiB, settings.memoryUnit),
      RunID: runId !== null && shown.has(runId) ? runId : null,
    })),
  }
}

/** The runs with devices of the node that the caller may know. A run with many is read once. */
async function shownRuns({ services, caller }: OperationContext<"readCapacity">, node: NodeUsage): Promise<ReadonlySet<number>> {
  const held = new Set(node.devices.flatMap(({ runId }) => runId ?? []))
  if (caller.isAdmin) return held
  const runs = await Promise.all([...held].map((id) => services.store.runs.get(id)))
  return new Set(runs.flatMap((run) => (run?.userId === caller.userId ? run.id : [])))
}

async function toOwnCapacity({ store, settings }: Services, { userId }: { userId: number }) {
  const { cpus, memoryMiB, gpus } = await remainingResourcesOf(store, userId, settings.defaultLimits)
  return { Cpus: cpus, Memory: memoryMiB === null ? null : fromMiBRoundedDown(memoryMiB, settings.memoryUnit), Gpus: gpus }
}

function toDefaults({ settings }: Services) {
  const { startDefaults, defaultLimits, memoryUnit } = settings
  return {
    Cpus: startDefaults.cpus,
    Memory: fromMiB(startDefaults.memoryMiB, memoryUnit),
    StartMinutes: startDefaults.startMinutes,
    Limits: toLimitsResponse(defaultLimits, memoryUnit),
  }
}

export const capacityHandlers = { readCapacity } satisfies Partial<Handlers>

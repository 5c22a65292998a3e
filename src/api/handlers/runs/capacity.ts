import { Failure } from "#contract"
import { EngineError } from "#engine"
import { type NodeUsage, remainingResourcesOf } from "#runs"
import type { HandlerResult, Handlers, OperationContext, Services } from "../../context.ts"
import { fromMiBRoundedDown } from "../../units.ts"

/** The capacity of the nodes, and the resources that the caller's limits leave them. */
async function readCapacity(context: OperationContext<"readCapacity">): Promise<HandlerResult<"readCapacity">> {
  const { services } = context
  const nodes = await services.runs.nodeUsage().catch((error: unknown) => {
    if (error instanceof EngineError) throw new Failure("engine_unreachable", error.message, { cause: error })
    throw error
  })
  return {
    nodes: await Promise.all(nodes.map((node) => toNodeResponse(context, node))),
    you: await toOwnCapacity(services, context.caller),
  }
}

async function toNodeResponse({ services, caller }: OperationContext<"readCapacity">, node: NodeUsage) {
  const { store, settings } = services
  const inUnit = (amount: { total: number; free: number }) => ({
    total: fromMiBRoundedDown(amount.total, settings.memoryUnit),
    free: fromMiBRoundedDown(amount.free, settings.memoryUnit),
  })
  const holders = node.devices.map(async ({ runId }) => {
    if (runId === null || caller.isAdmin) return runId
    return (await store.runs.get(runId))?.userId === caller.userId ? runId : null
  })
  const shown = await Promise.all(holders)
  return {
    Name: node.name,
    Cpus: node.cpus,
    Memory: inUnit(node.memoryMiB),
    Gpus: node.gpus,
    Devices: node.devices.map(({ id, model, memoryMiB }, i) => ({
      ID: id,
      Model: model,
      Memory: fromMiBRoundedDown(memoryMiB, settings.memoryUnit),
      RunID: shown[i] ?? null,
    })),
  }
}

async function toOwnCapacity({ store, settings }: Services, { userId }: { userId: number }) {
  const { cpus, memoryMiB, gpus } = await remainingResourcesOf(store, userId, settings.defaultLimits)
  return { Cpus: cpus, Memory: memoryMiB === null ? null : fromMiBRoundedDown(memoryMiB, settings.memoryUnit), Gpus: gpus }
}

export const capacityHandlers = { readCapacity } satisfies Partial<Handlers>

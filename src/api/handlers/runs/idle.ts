import { Failure } from "#contract"
import type { HandlerResult, Handlers, OperationContext } from "../../context.ts"
import { toListResponse, toPageRequest, toTimestamp } from "../../responses/lists.ts"

/** The runs that an idle rule would end now. */
async function listIdle({ services, query }: OperationContext<"listIdle">): Promise<HandlerResult<"listIdle">> {
  const { Minutes } = query
  if (Minutes === undefined) throw new Failure("invalid", "Minutes is needed: the time without use, from 1", { field: "Minutes" })
  const page = toPageRequest(query)
  const found = await services.runs.findIdle(Minutes)
  const first = (page.page - 1) * page.pageSize
  const data = found.slice(first, first + page.pageSize).map(({ run, idleMs }) => ({
    ID: run.id,
    ProjectID: run.projectId,
    UserName: run.userName,
    LastActivity: toTimestamp(services.runs.lastActivity(run.id) ?? run.lastActivity),
    IdleMinutes: Math.floor(idleMs / 60_000),
  }))
  return toListResponse({ rows: data, total: found.length }, page, data)
}

export const idleHandlers = { listIdle } satisfies Partial<Handlers>

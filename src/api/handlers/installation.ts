import { toViewer } from "#access"
import { type AuditEntry, openApi, readinessAnswer } from "#contract"
import type { AuditRow } from "#store"
import { SerializedJson } from "../answer-forms.ts"
import type { ApiSettings, HandlerResult, Handlers, OperationContext, Services } from "../context.ts"
import { docsPage, docsSecurityPolicy } from "../pages/docs.ts"
import { toListResponse, toPageRequest, toTimestamp } from "../responses/lists.ts"

async function listAudit({ services, caller, query }: OperationContext<"listAudit">): Promise<HandlerResult<"listAudit">> {
  const page = toPageRequest(query)
  const { UserName: actor, Action: action, from, to } = query
  const filter = {
    ...(actor === undefined ? {} : { actor }),
    ...(action === undefined ? {} : { action }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  }
  const found = await services.store.audits.list(filter, toViewer(caller), page)
  return toListResponse(found, page, found.rows.map(toAuditResponse))
}

function toAuditResponse(row: AuditRow): AuditEntry {
  return {
    ID: row.id,
    Time: toTimestamp(row.at),
    Actor: row.actor,
    Action: row.action,
    Thing: row.resource && { Type: row.resource.type, ID: row.resource.id },
    Outcome: row.outcome,
    Address: row.address,
    RequestID: row.requestId,
    Count: row.count,
  }
}

/** An answer that is the same for everybody. It is made for the first request, and then cached. */
function cached<Answer>(make: (settings: ApiSettings) => Answer): (services: Pick<Services, "settings">) => Answer {
  const made = new WeakMap<ApiSettings, Answer>()
  return ({ settings }) => {
    const answer = made.get(settings) ?? make(settings)
    made.set(settings, answer)
    return answer
  }
}

const describe = cached(({ version, baseUrl, memoryUnit }) => new SerializedJson(openApi({ version, baseUrl, memoryUnit })))
const page = cached(docsPage)

export const installationHandlers = {
  listAudit,
  readSettings: ({ services }) => ({ settings: services.settings.inForce }),
  healthz: () => ({ ok: true }),
  async readyz(context) {
    const answer = readinessAnswer(await context.services.readiness())
    if (!answer.ok) context.setStatus(503)
    return answer
  },
  openapi: ({ services }: { services: Pick<Services, "settings"> }) => describe(services),
  docs(context) {
    context.setHeader("content-security-policy", docsSecurityPolicy)
    return page(context.services)
  },
  metrics: ({ server }) => server.metrics(),
} satisfies Partial<Handlers>

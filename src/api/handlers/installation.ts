import { openApi } from "#contract"
import type { AuditRow } from "#store"
import { type ApiSettings, type Context, type Handlers, ReadyJson, type Services } from "../context.ts"
import { docsPage, docsPolicy } from "../docs-page.ts"
import { iso, listAnswer, pageOf } from "./lists.ts"

async function listAudit({ store }: Services, { query }: Context<"listAudit">) {
  const page = pageOf(query)
  const { UserName: actor, Action: action, from, to } = query
  const filter = {
    ...(actor === undefined ? {} : { actor }),
    ...(action === undefined ? {} : { action }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  }
  const found = await store.audits.list(filter, page)
  return listAnswer(found, page, found.rows.map(auditAnswer))
}

function auditAnswer(row: AuditRow) {
  return {
    ID: row.id,
    Time: iso(row.at),
    Actor: row.actor,
    Action: row.action,
    Thing: row.resource && { Type: row.resource.type, ID: row.resource.id },
    Outcome: row.outcome,
    Address: row.address,
    RequestID: row.requestId,
    Count: row.count,
  }
}

/**
 * The same for everybody, and nobody needs to prove anything for it: made when it is first asked
 * for, and kept.
 */
function once<Answer>(make: (settings: ApiSettings) => Answer): (services: Pick<Services, "settings">) => Answer {
  const made = new WeakMap<ApiSettings, Answer>()
  return ({ settings }) => {
    const answer = made.get(settings) ?? make(settings)
    made.set(settings, answer)
    return answer
  }
}

const describe = once(({ version, baseUrl, memoryUnit }) => new ReadyJson(openApi({ version, baseUrl, memoryUnit })))
const page = once(docsPage)

export const installationHandlers = {
  listAudit,
  healthz: () => ({ ok: true }),
  async readyz({ readiness }, context) {
    const checks = await readiness()
    const ok = Object.values(checks).every((check) => check.ok)
    if (!ok) context.setStatus(503)
    return { ok, ...(ok ? {} : { msg: "Some part cannot be used: see checks", code: "unavailable" }), checks }
  },
  openapi: describe,
  docs(services, context) {
    context.setHeader("content-security-policy", docsPolicy)
    return page(services)
  },
  metrics: (_services, context) => context.server.metrics(),
} satisfies Partial<Handlers>

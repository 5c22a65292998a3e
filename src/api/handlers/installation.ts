import { openApi } from "#contract"
import type { AuditRow } from "#store"
import type { Context, Handlers, Services } from "../context.ts"
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
    Thing: row.thing && { Type: row.thing.type, ID: row.thing.id },
    Outcome: row.outcome,
    Address: row.address,
    RequestID: row.requestId,
    Count: row.count,
  }
}

export const installationHandlers = {
  listAudit,
  healthz: () => ({ ok: true }),
  async readyz({ readiness }, context) {
    const checks = await readiness()
    const ok = Object.values(checks).every((check) => check.ok)
    if (!ok) context.setStatus(503)
    return { ok, ...(ok ? {} : { msg: "Some part cannot be used: see checks", code: "unavailable" }), checks }
  },
  openapi: ({ settings }) => openApi({ version: settings.version, baseUrl: settings.baseUrl, memoryUnit: settings.memoryUnit }),
  docs({ settings }, context) {
    context.setHeader("content-security-policy", docsPolicy)
    return docsPage(settings)
  },
  metrics: (_services, context) => context.surroundings.metrics(),
} satisfies Partial<Handlers>

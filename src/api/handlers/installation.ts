import { openApi } from "#contract"
import type { Handlers } from "../context.ts"

export const installationHandlers = {
  healthz: () => ({ ok: true }),
  async readyz({ readiness }, context) {
    const checks = await readiness()
    const ok = Object.values(checks).every((check) => check.ok)
    if (!ok) context.setStatus(503)
    return { ok, ...(ok ? {} : { msg: "Some part cannot be used: see checks", code: "unavailable" }), checks }
  },
  openapi: ({ settings }) => openApi({ version: settings.version, baseUrl: settings.baseUrl, memoryUnit: settings.memoryUnit }),
} satisfies Partial<Handlers>

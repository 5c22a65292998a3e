import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { pageSearchParam, textSearchParam } from "../../api/search-params.ts"
import { adminRoute } from "../../app/routes.tsx"
import type { AuditSearch } from "./audit-search.ts"

const audit = createRoute({
  getParentRoute: () => adminRoute,
  path: "/audit",
  validateSearch: ({ person, action, from, to, page }: Record<string, unknown>): AuditSearch => ({
    ...textSearchParam("person", person),
    ...textSearchParam("action", action),
    ...textSearchParam("from", from),
    ...textSearchParam("to", to),
    ...pageSearchParam(page),
  }),
  component: lazyRouteComponent(() => import("./audit-page.tsx"), "AuditPage"),
})

export const auditRoutes = [audit] as const

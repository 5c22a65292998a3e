import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { pageOf, wordsOf } from "../../api/search-params.ts"
import { adminRoute } from "../../app/routes.tsx"
import type { AuditSearch } from "./audit-search.ts"

const audit = createRoute({
  getParentRoute: () => adminRoute,
  path: "/audit",
  validateSearch: ({ person, action, from, to, page }: Record<string, unknown>): AuditSearch => ({
    ...wordsOf("person", person),
    ...wordsOf("action", action),
    ...wordsOf("from", from),
    ...wordsOf("to", to),
    ...pageOf(page),
  }),
  component: lazyRouteComponent(() => import("./audit-page.tsx"), "AuditPage"),
})

export const auditRoutes = [audit] as const

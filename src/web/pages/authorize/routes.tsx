import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { layoutRoute } from "../../app/routes.tsx"
import { type AuthorizeRequest, parseAuthorizeRequest } from "./request.ts"

const authorize = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/authorize",
  validateSearch: (search: Record<string, unknown>): Partial<AuthorizeRequest> => parseAuthorizeRequest(search) ?? {},
  component: lazyRouteComponent(() => import("./authorize-page.tsx"), "AuthorizePage"),
})

export const authorizeRoutes = [authorize] as const

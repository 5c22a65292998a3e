import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { adminRoute } from "../../app/routes.tsx"

const health = createRoute({
  getParentRoute: () => adminRoute,
  path: "/health",
  component: lazyRouteComponent(() => import("./health-page.tsx"), "HealthPage"),
})

export const healthRoutes = [health] as const

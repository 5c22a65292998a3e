import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { layoutRoute } from "../../app/routes.tsx"

const meTabs = ["profile", "password", "tokens", "sessions", "appearance"] as const
export type MeTab = (typeof meTabs)[number]

const me = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/me",
  validateSearch: ({ tab }: Record<string, unknown>): { tab?: MeTab } => (meTabs.includes(tab as MeTab) ? { tab: tab as MeTab } : {}),
  component: lazyRouteComponent(() => import("./me-page.tsx"), "MePage"),
})

export const meRoutes = [me] as const

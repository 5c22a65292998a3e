import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { layoutRoute } from "../../app/routes.tsx"
import { parseHomeSearch } from "./home-search.ts"

const home = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/",
  validateSearch: parseHomeSearch,
  component: lazyRouteComponent(() => import("./home-page.tsx"), "HomePage"),
})

export const homeRoutes = [home] as const

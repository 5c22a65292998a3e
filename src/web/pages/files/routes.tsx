import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { shellRoute } from "../../app/routes.tsx"

const files = createRoute({
  getParentRoute: () => shellRoute,
  path: "/files",
  validateSearch: ({ path }: Record<string, unknown>): { path?: string } =>
    typeof path === "string" && path.startsWith("/") ? { path } : {},
  component: lazyRouteComponent(() => import("./files-page.tsx"), "FilesPage"),
})

export const filesRoutes = [files] as const

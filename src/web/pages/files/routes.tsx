import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { shellRoute } from "../../app/routes.tsx"
import { parseFilesSearch } from "./files-search.ts"

const files = createRoute({
  getParentRoute: () => shellRoute,
  path: "/files",
  validateSearch: parseFilesSearch,
  component: lazyRouteComponent(() => import("./files-page.tsx"), "FilesPage"),
})

export const filesRoutes = [files] as const

import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { layoutRoute } from "../../app/routes.tsx"
import { parseFilesSearch } from "./files-search.ts"

const files = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/files",
  validateSearch: parseFilesSearch,
  component: lazyRouteComponent(() => import("./files-page.tsx"), "FilesPage"),
})

export const filesRoutes = [files] as const

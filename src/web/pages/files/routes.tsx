import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { shellRoute } from "../../app/routes.tsx"

export interface FilesSearch {
  path?: string
  /** The name of the file whose preview is open. */
  file?: string
}

const files = createRoute({
  getParentRoute: () => shellRoute,
  path: "/files",
  validateSearch: ({ path, file }: Record<string, unknown>): FilesSearch =>
    typeof path === "string" && path.startsWith("/") ? { path, ...(typeof file === "string" ? { file } : {}) } : {},
  component: lazyRouteComponent(() => import("./files-page.tsx"), "FilesPage"),
})

export const filesRoutes = [files] as const

import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { idParam } from "../../app/id-param.ts"
import { layoutRoute } from "../../app/routes.tsx"
import { parseListSearch } from "../listing/list-search.ts"

const projects = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/projects",
  validateSearch: parseListSearch,
  component: lazyRouteComponent(() => import("./projects-page.tsx"), "ProjectsPage"),
})

const newProject = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/projects/new",
  /** The image with which the form begins. */
  validateSearch: ({ image }: Record<string, unknown>): { image?: number } =>
    Number.isSafeInteger(image) && Number(image) > 0 ? { image: Number(image) } : {},
  component: lazyRouteComponent(() => import("./new-project-page.tsx"), "NewProjectPage"),
})

const project = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/projects/$id",
  params: idParam,
  component: lazyRouteComponent(() => import("./project-page.tsx"), "ProjectPage"),
})

const editProject = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/projects/$id/edit",
  params: idParam,
  component: lazyRouteComponent(() => import("./edit-project-page.tsx"), "EditProjectPage"),
})

export const projectRoutes = [projects, newProject, project, editProject] as const

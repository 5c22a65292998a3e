import { createRoute, createRouter } from "@tanstack/react-router"
import { ErrorState } from "../components/feedback.tsx"
import { auditRoutes } from "../pages/audit/routes.tsx"
import { authorizeRoutes } from "../pages/authorize/routes.tsx"
import { capacityRoutes } from "../pages/capacity/routes.tsx"
import { datasetRoutes } from "../pages/datasets/routes.tsx"
import { filesRoutes } from "../pages/files/routes.tsx"
import { groupRoutes } from "../pages/groups/routes.tsx"
import { healthRoutes } from "../pages/health/routes.tsx"
import { homeRoutes } from "../pages/home/routes.tsx"
import { imageRoutes } from "../pages/images/routes.tsx"
import { meRoutes } from "../pages/me/routes.tsx"
import { peopleRoutes } from "../pages/people/routes.tsx"
import { projectRoutes } from "../pages/projects/routes.tsx"
import { runRoutes } from "../pages/run/routes.tsx"
import { signInRoute } from "../pages/sign-in/routes.tsx"
import { startRoutes } from "../pages/start/routes.tsx"
import { NotFound } from "./not-found.tsx"
import { adminRoute, layoutRoute, rootRoute } from "./routes.tsx"

const resourceRoutes = [...projectRoutes, ...imageRoutes, ...datasetRoutes, ...groupRoutes] as const
const pageRoutes = [
  ...homeRoutes,
  ...startRoutes,
  ...runRoutes,
  ...resourceRoutes,
  ...filesRoutes,
  ...meRoutes,
  ...authorizeRoutes,
] as const
const adminRoutes = adminRoute.addChildren([...peopleRoutes, ...capacityRoutes, ...auditRoutes, ...healthRoutes])
/** Every other address: the navigation leads on from it. */
const unknownRoute = createRoute({ getParentRoute: () => layoutRoute, path: "$", component: NotFound })
const routeTree = rootRoute.addChildren([signInRoute, layoutRoute.addChildren([...pageRoutes, adminRoutes, unknownRoute])])

export const router = createRouter({
  routeTree,
  basepath: location.pathname.startsWith("/admin/") ? "/admin/ui" : "/ui",
  defaultPreload: "intent",
  scrollRestoration: true,
  trailingSlash: "preserve",
  defaultNotFoundComponent: NotFound,
  defaultErrorComponent: ({ error }) => <ErrorState error={error} onRetry={() => location.reload()} />,
})

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router
  }
}

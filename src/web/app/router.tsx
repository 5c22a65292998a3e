import { createRouter } from "@tanstack/react-router"
import { ErrorState } from "../components/feedback.tsx"
import { homeRoutes } from "../pages/home/routes.tsx"
import { runRoutes } from "../pages/run/routes.tsx"
import { signInRoute } from "../pages/sign-in/routes.tsx"
import { startRoutes } from "../pages/start/routes.tsx"
import { NotFound } from "./not-found.tsx"
import { rootRoute, shellRoute } from "./routes.tsx"

const routeTree = rootRoute.addChildren([signInRoute, shellRoute.addChildren([...homeRoutes, ...startRoutes, ...runRoutes])])

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

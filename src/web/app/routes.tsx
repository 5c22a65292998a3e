import { createRootRoute, createRoute, Outlet } from "@tanstack/react-router"
import { AdminOnly } from "./admin-only.tsx"
import { Shell } from "./shell.tsx"

export const rootRoute = createRootRoute({ component: Outlet })

/** The parent of every page for people who are signed in: navigation, banner, palette. */
export const shellRoute = createRoute({ getParentRoute: () => rootRoute, id: "shell", component: Shell })

/** The parent of the pages for administrators. Other people see a page that says so. */
export const adminRoute = createRoute({ getParentRoute: () => shellRoute, id: "admin", component: AdminOnly })

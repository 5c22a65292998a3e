import { createRootRoute, createRoute, Outlet } from "@tanstack/react-router"
import { AdminOnly } from "./admin-only.tsx"
import { Layout } from "./layout.tsx"

export const rootRoute = createRootRoute({ component: Outlet })

/** The parent of every page for people who are signed in: navigation, banner, palette. */
export const layoutRoute = createRoute({ getParentRoute: () => rootRoute, id: "shell", component: Layout })

/** The parent of the pages for administrators. Other people see a page that says so. */
export const adminRoute = createRoute({ getParentRoute: () => layoutRoute, id: "admin", component: AdminOnly })

import { createRootRoute, createRoute, Outlet } from "@tanstack/react-router"
import { Shell } from "./shell.tsx"

export const rootRoute = createRootRoute({ component: Outlet })

/** The parent of every page for people who are signed in: navigation, banner, palette. */
export const shellRoute = createRoute({ getParentRoute: () => rootRoute, id: "shell", component: Shell })

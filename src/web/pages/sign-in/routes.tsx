import { createRoute } from "@tanstack/react-router"
import { rootRoute } from "../../app/routes.tsx"
import { SignInPage } from "./sign-in-page.tsx"

export const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sign-in",
  validateSearch: ({ next }: Record<string, unknown>): { next?: string } => (typeof next === "string" ? { next } : {}),
  component: SignInPage,
})

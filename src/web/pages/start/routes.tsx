import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { parseId } from "../../app/id-param.ts"
import { layoutRoute } from "../../app/routes.tsx"

/** The resources with which a start begins; an earlier run's after it failed. */
export interface StartSearch {
  cpus?: number
  memory?: number
  gpus?: number
}

const start = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/start/$project",
  params: { parse: ({ project }) => ({ project: parseId(project) }), stringify: ({ project }) => ({ project: String(project) }) },
  validateSearch: ({ cpus, memory, gpus }: Record<string, unknown>): StartSearch => ({
    ...amount("cpus", cpus),
    ...amount("memory", memory),
    ...amount("gpus", gpus),
  }),
  component: lazyRouteComponent(() => import("./start-page.tsx"), "StartPage"),
})

function amount<K extends string>(name: K, value: unknown): { [N in K]?: number } {
  const isAmount = typeof value === "number" && Number.isSafeInteger(value) && value > 0
  return (isAmount ? { [name]: value } : {}) as { [N in K]?: number }
}

export const startRoutes = [start] as const

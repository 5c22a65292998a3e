import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import type { RunState } from "#contract"
import { idParam } from "../../app/id-param.ts"
import { shellRoute } from "../../app/routes.tsx"

export const runTabs = ["overview", "logs", "record"] as const
export type RunTab = (typeof runTabs)[number]

const run = createRoute({
  getParentRoute: () => shellRoute,
  path: "/runs/$id",
  params: idParam,
  validateSearch: ({ tab }: Record<string, unknown>): { tab?: RunTab } => (runTabs.includes(tab as RunTab) ? { tab: tab as RunTab } : {}),
  component: lazyRouteComponent(() => import("./run-page.tsx"), "RunPage"),
})

export interface HistorySearch {
  state?: RunState
  page?: number
  project?: number
}

const history = createRoute({
  getParentRoute: () => shellRoute,
  path: "/history",
  validateSearch: ({ state, page, project }: Record<string, unknown>): HistorySearch => ({
    ...(state === "ended" || state === "failed" ? { state } : {}),
    ...(Number.isSafeInteger(page) && Number(page) > 1 ? { page: Number(page) } : {}),
    ...(Number.isSafeInteger(project) ? { project: Number(project) } : {}),
  }),
  component: lazyRouteComponent(() => import("./history-page.tsx"), "HistoryPage"),
})

export const runRoutes = [run, history] as const

import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { pageSearchParam, textSearchParam } from "../../api/search-params.ts"
import { idParam } from "../../app/id-param.ts"
import { layoutRoute } from "../../app/routes.tsx"
import type { HistorySearch } from "./history-search.ts"

const runTabs = ["overview", "logs", "terminal", "record"] as const
export type RunTab = (typeof runTabs)[number]

const run = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/runs/$id",
  params: idParam,
  validateSearch: ({ tab }: Record<string, unknown>): { tab?: RunTab } => (runTabs.includes(tab as RunTab) ? { tab: tab as RunTab } : {}),
  component: lazyRouteComponent(() => import("./run-page.tsx"), "RunPage"),
})

const history = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/history",
  validateSearch: ({ state, person, project, page }: Record<string, unknown>): HistorySearch => ({
    ...(state === "failed" ? { state } : {}),
    ...textSearchParam("person", person),
    ...(Number.isSafeInteger(project) ? { project: Number(project) } : {}),
    ...pageSearchParam(page),
  }),
  component: lazyRouteComponent(() => import("./history-page.tsx"), "HistoryPage"),
})

export const runRoutes = [run, history] as const

import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { type RunState, runStateNames } from "#contract"
import { pageSearchParam, textSearchParam } from "../../api/search-params.ts"
import { adminRoute } from "../../app/routes.tsx"
import { type IdleMinutes, idleMinutesOptions } from "./idle-minutes.ts"

const capacityTabs = ["nodes", "runs", "idle", "images"] as const
export type CapacityTab = (typeof capacityTabs)[number]

export interface CapacitySearch {
  tab?: CapacityTab
  state?: RunState
  person?: string
  minutes?: number
  page?: number
}

const capacity = createRoute({
  getParentRoute: () => adminRoute,
  path: "/capacity",
  validateSearch: ({ tab, state, person, minutes, page }: Record<string, unknown>): CapacitySearch => ({
    ...(capacityTabs.includes(tab as CapacityTab) ? { tab: tab as CapacityTab } : {}),
    ...(runStateNames.includes(state as RunState) ? { state: state as RunState } : {}),
    ...textSearchParam("person", person),
    ...(idleMinutesOptions.includes(String(minutes) as IdleMinutes) ? { minutes: Number(minutes) } : {}),
    ...pageSearchParam(page),
  }),
  component: lazyRouteComponent(() => import("./capacity-page.tsx"), "CapacityPage"),
})

export const capacityRoutes = [capacity] as const

import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { pageSearchParam, textSearchParam } from "../../api/search-params.ts"
import { idParam } from "../../app/id-param.ts"
import { adminRoute } from "../../app/routes.tsx"

export interface PeopleSearch {
  tab?: "groups" | "sessions"
  q?: string
  page?: number
}

const people = createRoute({
  getParentRoute: () => adminRoute,
  path: "/people",
  validateSearch: ({ tab, q, page }: Record<string, unknown>): PeopleSearch => ({
    ...(tab === "groups" || tab === "sessions" ? { tab } : {}),
    ...textSearchParam("q", q),
    ...pageSearchParam(page),
  }),
  component: lazyRouteComponent(() => import("./people-page.tsx"), "PeoplePage"),
})

const newPerson = createRoute({
  getParentRoute: () => adminRoute,
  path: "/people/new",
  component: lazyRouteComponent(() => import("./new-person-page.tsx"), "NewPersonPage"),
})

const personTabs = ["overview", "limits", "sessions", "account"] as const
export type PersonTab = (typeof personTabs)[number]

const person = createRoute({
  getParentRoute: () => adminRoute,
  path: "/people/$id",
  params: idParam,
  validateSearch: ({ tab }: Record<string, unknown>): { tab?: PersonTab } =>
    personTabs.includes(tab as PersonTab) ? { tab: tab as PersonTab } : {},
  component: lazyRouteComponent(() => import("./person-page.tsx"), "PersonPage"),
})

export const peopleRoutes = [people, newPerson, person] as const

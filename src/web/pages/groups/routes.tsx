import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { idParam } from "../../app/id-param.ts"
import { layoutRoute } from "../../app/routes.tsx"
import { parseListSearch } from "../listing/list-search.ts"

const groups = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/groups",
  validateSearch: (search: Record<string, unknown>) => {
    const { q, page } = parseListSearch(search)
    return { ...(q === undefined ? {} : { q }), ...(page === undefined ? {} : { page }) }
  },
  component: lazyRouteComponent(() => import("./groups-page.tsx"), "GroupsPage"),
})

const newGroup = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/groups/new",
  component: lazyRouteComponent(() => import("./new-group-page.tsx"), "NewGroupPage"),
})

const group = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/groups/$id",
  params: idParam,
  component: lazyRouteComponent(() => import("./group-page.tsx"), "GroupPage"),
})

const editGroup = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/groups/$id/edit",
  params: idParam,
  component: lazyRouteComponent(() => import("./edit-group-page.tsx"), "EditGroupPage"),
})

export const groupRoutes = [groups, newGroup, group, editGroup] as const

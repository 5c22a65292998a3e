import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { shellRoute } from "../../app/routes.tsx"
import { parseListSearch } from "../listing/list-search.ts"

const id = {
  parse: ({ id }: { id: string }) => ({ id: Number(id) }),
  stringify: ({ id }: { id: number }) => ({ id: String(id) }),
}

const groups = createRoute({
  getParentRoute: () => shellRoute,
  path: "/groups",
  validateSearch: (search: Record<string, unknown>) => {
    const { q, page } = parseListSearch(search)
    return { ...(q === undefined ? {} : { q }), ...(page === undefined ? {} : { page }) }
  },
  component: lazyRouteComponent(() => import("./groups-page.tsx"), "GroupsPage"),
})

const newGroup = createRoute({
  getParentRoute: () => shellRoute,
  path: "/groups/new",
  component: lazyRouteComponent(() => import("./new-group-page.tsx"), "NewGroupPage"),
})

const group = createRoute({
  getParentRoute: () => shellRoute,
  path: "/groups/$id",
  params: id,
  component: lazyRouteComponent(() => import("./group-page.tsx"), "GroupPage"),
})

const editGroup = createRoute({
  getParentRoute: () => shellRoute,
  path: "/groups/$id/edit",
  params: id,
  component: lazyRouteComponent(() => import("./edit-group-page.tsx"), "EditGroupPage"),
})

export const groupRoutes = [groups, newGroup, group, editGroup] as const

import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { idParam } from "../../app/id-param.ts"
import { layoutRoute } from "../../app/routes.tsx"
import { parseListSearch } from "../listing/list-search.ts"

const images = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/images",
  validateSearch: parseListSearch,
  component: lazyRouteComponent(() => import("./images-page.tsx"), "ImagesPage"),
})

const newImage = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/images/new",
  component: lazyRouteComponent(() => import("./new-image-page.tsx"), "NewImagePage"),
})

const image = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/images/$id",
  params: idParam,
  component: lazyRouteComponent(() => import("./image-page.tsx"), "ImagePage"),
})

const editImage = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/images/$id/edit",
  params: idParam,
  component: lazyRouteComponent(() => import("./edit-image-page.tsx"), "EditImagePage"),
})

export const imageRoutes = [images, newImage, image, editImage] as const

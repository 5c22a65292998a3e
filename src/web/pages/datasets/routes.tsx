import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { idParam } from "../../app/id-param.ts"
import { layoutRoute } from "../../app/routes.tsx"
import { parseListSearch } from "../listing/list-search.ts"

const datasets = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/datasets",
  validateSearch: parseListSearch,
  component: lazyRouteComponent(() => import("./datasets-page.tsx"), "DatasetsPage"),
})

const newDataset = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/datasets/new",
  component: lazyRouteComponent(() => import("./new-dataset-page.tsx"), "NewDatasetPage"),
})

const dataset = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/datasets/$id",
  params: idParam,
  component: lazyRouteComponent(() => import("./dataset-page.tsx"), "DatasetPage"),
})

const editDataset = createRoute({
  getParentRoute: () => layoutRoute,
  path: "/datasets/$id/edit",
  params: idParam,
  component: lazyRouteComponent(() => import("./edit-dataset-page.tsx"), "EditDatasetPage"),
})

export const datasetRoutes = [datasets, newDataset, dataset, editDataset] as const

import { accountBounds } from "./accounts.ts"
import type { Bounds } from "./bound.ts"
import { containerBounds } from "./containers.ts"
import { controlBounds } from "./control.ts"
import { fileBounds } from "./files.ts"
import { gatewayBounds } from "./gateway.ts"
import { httpBounds } from "./http.ts"
import { rateBounds } from "./rates.ts"
import { runBounds } from "./runs.ts"
import { storageBounds } from "./storage.ts"
import { textBounds } from "./texts.ts"

export type { Bound, BoundUnit } from "./bound.ts"

/** Every bound, by the part of the service that holds it. */
export const bounds = {
  http: httpBounds,
  accounts: accountBounds,
  texts: textBounds,
  files: fileBounds,
  storage: storageBounds,
  runs: runBounds,
  rates: rateBounds,
  containers: containerBounds,
  gateway: gatewayBounds,
  control: controlBounds,
} as const

/** The same with titles, in the order of the page. */
export const boundSections: readonly { title: string; bounds: Bounds }[] = [
  { title: "Connections and requests", bounds: httpBounds },
  { title: "Signing in", bounds: accountBounds },
  { title: "Texts, lists and answers", bounds: textBounds },
  { title: "Files (WebDAV)", bounds: fileBounds },
  { title: "Disk", bounds: storageBounds },
  { title: "Runs, queue and history", bounds: runBounds },
  { title: "Rates and streams", bounds: rateBounds },
  { title: "Containers and registries", bounds: containerBounds },
  { title: "Gateway", bounds: gatewayBounds },
  { title: "Control channel", bounds: controlBounds },
]

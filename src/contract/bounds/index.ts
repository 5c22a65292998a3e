import { accounts } from "./accounts.ts"
import type { Bounds } from "./bound.ts"
import { containers } from "./containers.ts"
import { files } from "./files.ts"
import { gateway } from "./gateway.ts"
import { http } from "./http.ts"
import { rates } from "./rates.ts"
import { runs } from "./runs.ts"
import { storage } from "./storage.ts"
import { texts } from "./texts.ts"

export type { Bound, BoundUnit } from "./bound.ts"

/** Every bound, by the part of the service that holds it. */
export const bounds = { http, accounts, texts, files, storage, runs, rates, containers, gateway } as const

/** The same with titles, in the order of the page. */
export const boundSections: readonly { title: string; bounds: Bounds }[] = [
  { title: "Connections and requests", bounds: http },
  { title: "Signing in", bounds: accounts },
  { title: "Texts, lists and answers", bounds: texts },
  { title: "Files (WebDAV)", bounds: files },
  { title: "Disk", bounds: storage },
  { title: "Runs, queue and history", bounds: runs },
  { title: "Rates and streams", bounds: rates },
  { title: "Containers and registries", bounds: containers },
  { title: "Gateway", bounds: gateway },
]

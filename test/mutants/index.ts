import { access } from "./access.ts"
import { api } from "./api.ts"
import { commandLine } from "./cli.ts"
import { confinement } from "./confinement.ts"
import { contracts } from "./contract.ts"
import { control } from "./control.ts"
import { events } from "./events.ts"
import { failures } from "./failures.ts"
import { guards } from "./guards.ts"
import { isolation } from "./isolation.ts"
import { kubernetes } from "./kubernetes.ts"
import { layout } from "./layout.ts"
import type { Mutant } from "./mutant.ts"
import { origins } from "./origins.ts"
import { processes } from "./processes.ts"
import { rights } from "./rights.ts"
import { runs } from "./runs.ts"
import { simulation } from "./simulation.ts"
import { store } from "./store.ts"
import { web } from "./web.ts"
import { webdav } from "./webdav.ts"

/**
 * `script/test --mutants` puts them into a copy of the tree, one at a time. A part is a file beside
 * this one.
 */
export const parts: Readonly<Record<string, readonly Mutant[]>> = {
  layout,
  contract: contracts,
  store,
  api,
  access,
  rights,
  guards,
  events,
  isolation,
  kubernetes,
  origins,
  web,
  webdav,
  confinement,
  failures,
  runs,
  simulation,
  processes,
  control,
  cli: commandLine,
}

export type { Range } from "./declarations.ts"
export { hanging } from "./hanging.ts"
export { locateFaults, type Mutant, needsDocker } from "./mutant.ts"

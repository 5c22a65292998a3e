import type { Handlers } from "../context.ts"
import { capacityHandlers } from "./capacity.ts"
import { dataHandlers } from "./data.ts"
import { dataUpdateHandlers } from "./dataset-changes.ts"
import { eventHandlers } from "./events.ts"
import { grantHandlers } from "./grants.ts"
import { groupHandlers } from "./groups.ts"
import { imageContentsHandlers } from "./image-contents.ts"
import { imageHandlers } from "./images.ts"
import { installationHandlers } from "./installation.ts"
import { projectCodeHandlers } from "./project-changes.ts"
import { projectHandlers } from "./projects.ts"
import { runUseHandlers } from "./run-use.ts"
import { runHandlers } from "./runs.ts"
import { sessionHandlers } from "./sessions.ts"
import { startHandlers } from "./starts.ts"
import { tokenHandlers } from "./tokens.ts"
import { userHandlers } from "./users.ts"

/** A handler for every row of the contract's table; a missing one does not compile. */
export const handlers: Handlers = {
  ...imageHandlers,
  ...imageContentsHandlers,
  ...dataHandlers,
  ...dataUpdateHandlers,
  ...projectHandlers,
  ...projectCodeHandlers,
  ...runHandlers,
  ...runUseHandlers,
  ...startHandlers,
  ...capacityHandlers,
  ...userHandlers,
  ...groupHandlers,
  ...grantHandlers,
  ...tokenHandlers,
  ...sessionHandlers,
  ...eventHandlers,
  ...installationHandlers,
}

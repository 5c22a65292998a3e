import type { Handlers } from "../context.ts"
import { groupHandlers } from "./accounts/groups.ts"
import { sessionHandlers } from "./accounts/sessions.ts"
import { tokenHandlers } from "./accounts/tokens.ts"
import { userHandlers } from "./accounts/users.ts"
import { eventHandlers } from "./events.ts"
import { installationHandlers } from "./installation.ts"
import { dataHandlers } from "./resources/data.ts"
import { dataUpdateHandlers } from "./resources/data-update.ts"
import { grantHandlers } from "./resources/grants.ts"
import { imageCheckHandlers } from "./resources/image-checks.ts"
import { imageHandlers } from "./resources/images.ts"
import { projectUpdateHandlers } from "./resources/project-update.ts"
import { projectHandlers } from "./resources/projects.ts"
import { capacityHandlers } from "./runs/capacity.ts"
import { idleHandlers } from "./runs/idle.ts"
import { runUsageHandlers } from "./runs/run-usage.ts"
import { runHandlers } from "./runs/runs.ts"
import { startHandlers } from "./runs/starts.ts"

/** A handler for every row of the contract's table; a missing one does not compile. */
export const handlers: Handlers = {
  ...imageHandlers,
  ...imageCheckHandlers,
  ...dataHandlers,
  ...dataUpdateHandlers,
  ...projectHandlers,
  ...projectUpdateHandlers,
  ...runHandlers,
  ...runUsageHandlers,
  ...startHandlers,
  ...capacityHandlers,
  ...idleHandlers,
  ...userHandlers,
  ...groupHandlers,
  ...grantHandlers,
  ...tokenHandlers,
  ...sessionHandlers,
  ...eventHandlers,
  ...installationHandlers,
}

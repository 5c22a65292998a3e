import type { Caller } from "#access"
import type { Actor, Events } from "#events"
import type { FileTree } from "#files"
import type { Clock, Logger } from "#kit"
import type { Store } from "#store"

/** The parts that the rules of projects work with. */
export interface ProjectsContext {
  readonly store: Store
  readonly tree: FileTree
  readonly events: Events
  readonly clock: Clock
  readonly logger: Logger
}

/** The person on whose behalf a rule acts. */
export interface Requester {
  readonly caller: Caller
  /** As the audit names them. */
  readonly actor: Actor
}

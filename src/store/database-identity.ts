/** Where a database is kept. What was copied elsewhere tells by it that it is a copy. */
export interface DatabaseIdentity {
  /** The machine, or the database server. */
  machine: string
  path: string
  /** Tells this very place from another of the same name: what a copy does not take along. */
  mark: string
}

/** What a driver knows of places. */
export interface IdentityCheck {
  readonly here: DatabaseIdentity
  /** Whether something is still kept at a place of this machine. */
  exists(place: DatabaseIdentity): boolean
}

/**
 * Whether a database is where it was. `moved`: what was there is gone, so this one stands for it,
 * also when it was restored from a backup. `copied`: the original may be in use; the two must never
 * look after the same containers.
 */
export function compareIdentity(recorded: DatabaseIdentity | undefined, { here, exists }: IdentityCheck): "here" | "moved" | "copied" {
  if (recorded === undefined) return "moved"
  // A container that is made anew calls itself another machine.
  if (recorded.mark === here.mark) return recorded.path === here.path && recorded.machine === here.machine ? "here" : "moved"
  if (recorded.machine !== here.machine) return "copied"
  return recorded.path !== here.path && exists(recorded) ? "copied" : "moved"
}

export function parseIdentity(text: string | undefined): DatabaseIdentity | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as DatabaseIdentity)
}

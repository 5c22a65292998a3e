/** The location of a database. It is recorded inside, so a copy elsewhere is recognized. */
export interface DatabaseIdentity {
  /** The machine, or the database server. */
  machine: string
  path: string
  /** Distinguishes locations with the same path; a copy has another mark. */
  mark: string
}

/** The present location, and a check of recorded ones. */
export interface IdentityCheck {
  readonly here: DatabaseIdentity
  /** Whether a database still exists at a recorded location of this machine. */
  exists(identity: DatabaseIdentity): boolean
}

/**
 * Compares the recorded location with the present one. `moved`: the original is gone, so this
 * database replaces it, also after a backup was restored. `copied`: the original may be in use, and
 * two servers must never manage the same containers.
 */
export function compareIdentity(recorded: DatabaseIdentity | undefined, { here, exists }: IdentityCheck): "here" | "moved" | "copied" {
  if (recorded === undefined) return "moved"
  // A recreated container has another machine name.
  if (recorded.mark === here.mark) return recorded.path === here.path && recorded.machine === here.machine ? "here" : "moved"
  if (recorded.machine !== here.machine) return "copied"
  return recorded.path !== here.path && exists(recorded) ? "copied" : "moved"
}

export function parseIdentity(text: string | undefined): DatabaseIdentity | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as DatabaseIdentity)
}

import type { ReasonCode } from "#contract"

/**
 * The behaviour of a fake image, chosen by its name `fake/<behaviour>[:<number>]`; the tag is the
 * behaviour's argument. Any other name behaves as `fake/http`.
 */
const behaviours = {
  /** Serves HTTP and WebSocket on the run's port; see `fake-program.ts` for its paths. */
  http: {},
  /** Serves, and uses all of its processors. */
  busy: { isBusy: true },
  /** Serves, and has written this many MiB (100) to its root file system. */
  writes: { argument: 100 },
  /** Serves, and has deleted files of this many MiB (100) open. */
  holds: { argument: 100 },
  /** Its programs have open files that cannot be examined. */
  hides: {},
  /** Serves, and reports a busy Jupyter kernel without using the processor. */
  computing: {},
  /** Serves; the image exposes this port (8501) and has the working directory `/app`. */
  exposes: { argument: 8501 },
  /** Opens its port after this many milliseconds (500). */
  slow: { argument: 500, isDelayed: true },
  /** Opens its port after this many milliseconds (500), and prints a line every 50 until then. */
  "slow-printing": { argument: 500, isDelayed: true },
  /** Opens its port after this many milliseconds (500), and uses all of its processors. */
  "slow-busy": { argument: 500, isDelayed: true, isBusy: true },
  /** Never opens its port. */
  "no-port": { listens: false },
  /** Opens this port (3000) instead. */
  "other-port": { argument: 3_000, listens: false, listensElsewhere: "everywhere" },
  /** Opens its port for programs of the same container only. */
  "local-port": { listens: false, listensElsewhere: "locally" },
  /** Opens its port and never answers. */
  silent: { answers: "nothing" },
  /** Answers every request with 500 and refuses WebSockets. */
  unhealthy: { answers: "500" },
  /** Exits at once with this code (1). */
  exits: { argument: 1, listens: false },
  /** Serves, then exits with code 3 after this many milliseconds (500). */
  "exits-later": { argument: 500 },
  /** Is killed for memory at once. */
  oom: { listens: false },
  /** Serves, and ignores the request to end. */
  stubborn: {},
  /** Exists neither locally nor in the registry. */
  missing: { pull: "image_not_found" },
  /** The registry denies access. */
  denied: { pull: "image_pull_denied" },
  /** The registry grants access to the user `robot` with the password `robot-password` only. */
  private: { needsCredentials: true },
  /** Built on this machine: always local, and in no registry. */
  built: { builtHere: true },
  /** Has this many GiB (100). */
  huge: { argument: 100 },
  /** The pull fails half-way. */
  broken: { pull: "image_pull_failed" },
  /** The pull stalls half-way until it is aborted. */
  "stuck-pull": { stuck: "pulling" },
  /** The pull lasts this many milliseconds (500) in ten steps. */
  "slow-pull": { argument: 500 },
  /** The engine hangs while it creates the container, until it is aborted. */
  "stuck-create": { stuck: "creating" },
  /** The engine hangs while it starts the container, until it is aborted. */
  "stuck-start": { stuck: "starting" },
  /** The engine hangs while it stops the container, until the stop is aborted. */
  "stuck-stop": { stuck: "stopping" },
  "no-command": { start: "command_not_found" },
  /** Is made for another kind of processor. */
  foreign: { start: "wrong_architecture" },
  "disk-full": { create: "disk_full" },
  "engine-error": { create: "engine_error" },
} as const satisfies Record<string, BehaviourTraits>

export type BehaviourName = keyof typeof behaviours

export interface BehaviourTraits {
  argument?: number
  listens?: boolean
  listensElsewhere?: "everywhere" | "locally"
  isDelayed?: true
  isBusy?: true
  answers?: "nothing" | "500"
  pull?: ReasonCode
  needsCredentials?: true
  builtHere?: true
  create?: ReasonCode
  start?: ReasonCode
  stuck?: "pulling" | "creating" | "starting" | "stopping"
}

export interface Behaviour extends BehaviourTraits {
  name: BehaviourName
  argument: number
}

/** Parses the behaviour from an image's name; any other image serves HTTP. */
export function behaviourOf(image: string): Behaviour {
  const match = /^(?:[^/]+\/)?fake\/([a-z0-9-]+)(?::(\d+))?$/.exec(image)
  const name = match?.[1] as BehaviourName | undefined
  const known = name !== undefined && Object.hasOwn(behaviours, name)
  const traits: BehaviourTraits = known ? behaviours[name] : {}
  return { ...traits, name: known ? name : "http", argument: match?.[2] === undefined ? (traits.argument ?? 0) : Number(match[2]) }
}

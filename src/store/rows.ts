import type { Limits, Progress, ProjectType, Reason, RunState } from "#contract"

/**
 * Rows as the rest of the program sees them. Times are milliseconds since the epoch; amounts of
 * memory are MiB.
 */
export interface Stamped {
  id: number
  createdAt: number
  updatedAt: number
  deletedAt: number | null
  /** Grows by one with every change of the row; the basis of its ETag. */
  version: number
}

/** The limits that somebody set; `null` is unlimited. */
export type { Limits } from "#contract"

export interface UserRow extends Stamped {
  userName: string
  /** PHC string; null: no password, signs in elsewhere. */
  passwordHash: string | null
  email: string
  comment: string
  isAdmin: boolean
  isDisabled: boolean
  limits: Limits
}

export interface TokenRow {
  id: number
  userId: number
  name: string
  /** sha256 of the token, hexadecimal. */
  hash: string
  createdAt: number
  expiresAt: number | null
  lastUsedAt: number | null
  /** `read`, `write`, `run:<ID>`. */
  scopes: string[]
}

export interface SessionRow {
  /** sha256 of the cookie's secret, hexadecimal. */
  hash: string
  userId: number
  createdAt: number
  expiresAt: number
}

/** Who a person is at an OpenID provider. */
export interface SubjectRow {
  issuer: string
  /** The provider's own name for the person, which it never gives to another. */
  subject: string
  userId: number
  createdAt: number
}

export interface GroupRow extends Stamped {
  groupName: string
  comment: string
  limits: Limits
  totalLimits: Limits
}

export interface ImageRow extends Stamped {
  name: string
  image: string
  comment: string
  command: string
  env: string
  port: string
  userId: number
  userName: string
  isPublished: boolean
  isTrusted: boolean
  doc: string
  /** Who last changed what runs there. 0: not known. */
  writtenBy: number
}

export interface DataRow extends Stamped {
  type: "dir"
  name: string
  comment: string
  doc: string
  userId: number
  userName: string
  accessInfo: string
  isPublished: boolean
}

export interface ProjectRow extends Stamped {
  projectName: string
  userId: number
  userName: string
  /** 0 and empty: no group. */
  groupId: number
  groupName: string
  type: ProjectType
  comment: string
  doc: string
  isPublic: boolean
  isTrusted: boolean
  imageId: number
  userPath: string
  codePath: string
  modelPath: string
  /** Who last changed what runs there. 0: not known. */
  writtenBy: number
}

export type GrantedType = "image" | "data" | "project" | "run"

/** A right on one thing that was given to a person or to the members of a group. */
export interface GrantRow {
  id: number
  createdAt: number
  updatedAt: number
  version: number
  thingType: GrantedType
  thingId: number
  /** Whose the thing is. */
  ownerId: number
  /** 0 and empty: a group's. */
  userId: number
  userName: string
  /** 0 and empty: a person's. */
  groupId: number
  groupName: string
  access: "read" | "use" | "write"
  /** From then on it does not count; null: it counts until it is taken back. */
  expiresAt: number | null
  createdBy: number
}

/**
 * A dataset's directory on its way to another owner: written down before it is moved, gone when the
 * row says so, too.
 */
export interface MoveRow {
  dataId: number
  from: string
  to: string
}

/** A link whose `mountPath` is empty where it is long. */
export interface LinkOutline extends LinkRow {
  /** Of the path. */
  bytes: number
  isCut: boolean
}

/** A dataset of a project, in the project's order. */
export interface LinkRow {
  projectId: number
  dataId: number
  /** As written; empty: the default, made from the dataset's name. */
  mountPath: string
}

export interface RunRow {
  id: number
  /** 32 hexadecimal digits, never used again. */
  key: string
  projectId: number
  userId: number
  userName: string
  state: RunState
  /** What is wanted of the engine: compared with what it holds, again and again. */
  wanted: "run" | "stop"
  reason: Reason | null
  progress: Progress | null
  /**
   * What was asked for, complete: enough to start it exactly so again. Secrets included: never
   * answered.
   */
  spec: RunPlan
  nodes: number
  cpus: number
  memoryMiB: number
  gpus: number
  gpuMemoryMiB: number
  createdAt: number
  updatedAt: number
  version: number
  /** When it left the queue. */
  startTime: number | null
  readyTime: number | null
  endTime: number | null
  lastActivity: number | null
  expiresAt: number | null
  nodeNames: string[]
  gpuDevices: string[]
  imageDigest: string
}

/** Everything that a start needs, resolved: no name in it is looked up again. */
export interface RunPlan {
  type: ProjectType
  image: string
  /** The image that named it; absent in plans of earlier versions. */
  imageId?: number
  /** The digest that `image` must still lead to, as when a run is repeated. Absent: any. */
  imageDigest?: string
  /**
   * Whether an administrator registered it: only then may it be one that was built on the machine.
   * Absent: no.
   */
  imageByAdmin?: boolean
  /** Null: the type's default, or the image's own. Placeholders are filled in. */
  command: readonly string[] | null
  env: Readonly<Record<string, string>>
  /** Null: the type's default. */
  port: number | null
  /** Where the code directory is mounted: the program starts there. */
  workDir: string
  /** Where the user directory is mounted: the program's HOME. */
  home: string
  mounts: readonly PlannedMount[]
  /**
   * A run is repeated as it was: image and project as they are now do not count when it leaves the
   * queue.
   */
  isRepeat?: boolean
  /** The group of the person whose internet setting counts; absent where none does. */
  internetOf?: string
  /**
   * A name for the set of people who decide what the run's pages do: `own` is its starter alone.
   * Absent in plans of earlier versions, and where it cannot be known.
   */
  authors?: string
  /** The run's own token, for programs that take one. */
  secret: string
}

/** A port of the apps host that belongs to one person, and to one set of authors, for ever. */
export interface RunPortRow {
  port: number
  userId: number
  /** As in the plan of every run that ever had it. */
  authors: string
  /** The project and the key of the run that had it last, or has it now. */
  projectId: number
  runKey: string
  /** Whether the run before that one was of another project, or there was none. */
  isHandedOver: boolean
}

export interface PlannedMount {
  source: string
  target: string
  readOnly: boolean
  /**
   * The dataset whose directory it is; absent for the starter's own, and in plans of earlier
   * versions.
   */
  dataId?: number
}

/** Who looks, as far as lists need to know. */
export interface Viewer {
  userId: number
  groupIds: readonly number[]
  /** Administrators see everything. */
  everything: boolean
}

/** Rows without the texts that are too long to hold for many of them. */
export interface Outlines<Row> {
  /** A text that was left out is empty, and so is the `spec` of a run. */
  rows: Row[]
  /**
   * Row by row the bytes of its texts, those included that were left out. Undefined: no row has
   * long texts.
   */
  bytes?: readonly number[]
  /** Whether any text of an answer was left out: `getMany` gives whole rows. */
  isCut?: boolean
}

/** One page of a list and how many rows there are in all for this viewer. */
export interface Page<Row> extends Outlines<Row> {
  total: number
}

export interface PageRequest {
  /** From 1. */
  page: number
  pageSize: number
}

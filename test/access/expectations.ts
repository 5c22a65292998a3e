import type { OperationId } from "#contract"

/**
 * Who may do what at every endpoint, written by hand from the specification and from nothing in
 * `src/access`.
 *
 * To add an endpoint, add its line, by the operation's name in the contract's table:
 *
 * - `on(type, cells)`: it acts on one thing. One cell for each standing of that type, in the order
 *   of `standings` below:
 *       `ok`  done, 200
 *       `no`  they see the thing, but may not: 403
 *       `cf`  they may, but a thing in this state cannot: 409
 *       `--`  for them there is no such thing: 404, the same answer as for an ID that never was
 *       `xx`  refused before anything is looked up: 403, the same answer as for an ID that
 *             never was
 *   Nothing acts on a deleted thing (`--` for everybody who would get an answer about a live one)
 *   unless `deleted` has other cells.
 *   The request is `?ID=` (PUT: a body with `ID`), unless `ask` tells another.
 * - `everybody()`: whoever is signed in. `administrators()`: nobody else: 403. `open()`: no proof
 *   is asked for.
 * - `lists(type, cells)`: a list with paging; the cells tell which things are in it (`ok`) and
 *   which are not (`--`).
 *
 * An operation that acts on things of several types, or by several ways of naming them, has a line
 * for each: its name, then ` by ` and how.
 *
 * `needs: "write"` (the default where the method is not GET): a proof that only reads is refused
 * with 403, whatever the thing.
 */
export const standings = {
  image: ["owner", "write", "use", "read", "other", "admin"],
  data: ["owner", "write", "use", "read", "other", "admin"],
  project: ["owner", "write", "use", "read", "other", "admin"],
  run: ["starter", "write", "use", "read", "projectOwner", "other", "admin"],
  user: ["self", "other", "admin"],
  group: ["member", "other", "admin"],
  token: ["owner", "other", "admin"],
  /** `owner`: of the resource of the grant. `given`: the grantee. */
  grant: ["owner", "given", "other", "admin"],
} as const

export type ThingType = keyof typeof standings
export type Standing = (typeof standings)[ThingType][number]
export type Cell = "ok" | "no" | "cf" | "--" | "xx"

export interface Request {
  /** Parameters of the query. */
  query?: Readonly<Record<string, string | number>>
  body?: object
}

/** The object that a request acts on, as far as requests name it. */
export interface Named {
  id: number
  /** A run's project. */
  projectId?: number
  /** A person's or a group's. */
  name?: string
}

interface Options {
  needs?: "read" | "write"
  ask?: (thing: Named) => Request
}

export type Expectation =
  | ({ is: "on"; type: ThingType; live: readonly Cell[]; deleted: readonly Cell[] } & Options)
  | ({ is: "lists"; type: ThingType; live: readonly Cell[] } & Options)
  | ({ is: "everybody" | "administrators" | "open" } & Options)

function cellsOf(type: ThingType, text: string): readonly Cell[] {
  const cells = text.split(" ") as Cell[]
  if (cells.length !== standings[type].length) throw new TypeError(`${standings[type].length} cells are wanted for ${type}, got ${text}`)
  return cells
}

/** The operation that a line is about. */
export const operationOf = (row: string): OperationId => row.split(" ", 1)[0] as OperationId

const on = (type: ThingType, live: string, options: Options & { deleted?: string } = {}): Expectation => {
  const gone = live.replaceAll(/ok|no/g, "--")
  return { is: "on", type, ...options, live: cellsOf(type, live), deleted: cellsOf(type, options.deleted ?? gone) }
}
const lists = (type: ThingType, live: string): Expectation => ({ is: "lists", type, live: cellsOf(type, live) })
const everybody = (ask?: Options["ask"], options: Options = {}): Expectation => ({ is: "everybody", ...(ask ? { ask } : {}), ...options })
const administrators = (ask?: Options["ask"]): Expectation => ({ is: "administrators", ...(ask ? { ask } : {}) })
const open = (ask?: Options["ask"]): Expectation => ({ is: "open", ...(ask ? { ask } : {}) })

let count = 0
/** A value that is never reused. */
const fresh = (word: string) => {
  count += 1
  return `${word}${count}`
}
const start = ({ id }: Named): Request => ({ body: { ProjectID: id } })
const give =
  (field: string) =>
  ({ id }: Named): Request => ({ body: { [field]: id, UserName: "boss", Access: "read" } })

//                       owner write use read other admin
const restored = "ok -- -- -- -- ok"

export const expectations: Readonly<Record<string, Expectation>> = {
  //                          owner write use read other admin
  createImage: everybody(() => ({ body: { Name: fresh("image"), Image: "fake/http" } })),
  readImage: on("image", "ok ok ok ok -- ok"),
  listImages: lists("image", "ok ok ok ok -- ok"),
  updateImage: on("image", "ok ok no no -- ok"),
  deleteImage: on("image", "ok no no no -- ok"),
  restoreImage: on("image", "ok no no no -- ok", { deleted: restored }),

  checkImage: on("image", "ok ok ok ok -- ok"),
  // A download needs `use`.
  pullImage: on("image", "ok ok ok no -- ok"),

  createData: everybody(() => ({ body: { Name: fresh("data") } })),
  listData: on("data", "ok ok ok ok -- ok"),
  // "dataset: change" is not in the table of rights: `write` is about its files.
  updateData: on("data", "ok no no no -- ok"),
  deleteData: on("data", "ok no no no -- ok"),
  restoreData: on("data", "ok no no no -- ok", { deleted: restored }),

  createProject: everybody(({ id }) => ({ body: { ProjectName: fresh("project"), Type: "http", ImageID: id } })),
  readProject: on("project", "ok ok ok ok -- ok"),
  listProjects: lists("project", "ok ok ok ok -- ok"),
  updateProject: on("project", "ok ok no no -- ok"),
  deleteProject: on("project", "ok no no no -- ok"),
  restoreProject: on("project", "ok no no no -- ok", { deleted: restored }),
  copyProject: on("project", "ok ok ok ok -- ok"),
  releaseProject: on("project", "ok no no no -- ok"),
  startRun: on("project", "ok ok ok no -- ok", { ask: start }),
  previewRun: on("project", "ok ok ok no -- ok", { ask: start, needs: "read" }),

  //                     starter write use read projectOwner other admin
  readRun: on("run", "ok ok ok ok ok -- ok", { deleted: "ok ok ok ok ok -- ok" }),
  listRuns: lists("run", "ok ok ok ok ok -- ok"),
  stopRun: on("run", "ok ok no no no -- ok", { deleted: "ok ok no no no -- ok" }),
  runLogs: on("run", "ok ok no no no -- no", { deleted: "ok ok no no no -- no" }),

  runStats: on("run", "ok ok ok ok no -- ok", { deleted: "ok ok ok ok no -- ok" }),
  // Only the run's person may repeat it exactly. A live run prevents its own repetition.
  repeatRun: on("run", "cf no no no no -- no", { deleted: "ok no no no no -- no" }),
  // Administrators can control a run by a grant only.
  keepRun: on("run", "ok ok no no no -- no", { deleted: "cf cf no no no -- no" }),

  readCapacity: everybody(),
  whoami: everybody(),
  createFilesToken: everybody(undefined, { needs: "read" }),

  //                        self other admin
  createUser: administrators(() => ({ body: { UserName: fresh("made") } })),
  readUser: on("user", "ok -- ok"),
  listUsers: administrators(),
  updateUser: on("user", "no -- ok", { ask: ({ id }) => ({ body: { ID: id, Comment: fresh("changed") } }) }),
  deleteUser: on("user", "xx xx ok"),

  //                          member other admin
  createGroup: administrators(() => ({ body: { GroupName: fresh("team") } })),
  readGroup: on("group", "ok -- ok"),
  listGroups: lists("group", "ok -- ok"),
  updateGroup: on("group", "xx xx ok"),
  deleteGroup: on("group", "xx xx ok"),

  //                          owner other admin
  createToken: everybody(() => ({ body: { Name: fresh("token") } })),
  listTokens: lists("token", "ok -- --"),
  deleteToken: on("token", "ok -- --"),

  //                          owner write use read other admin
  createGrant: on("image", "ok no no no -- ok", { ask: give("ImageID") }),
  "createGrant by DataID": on("data", "ok no no no -- ok", { ask: give("DataID") }),
  "createGrant by ProjectID": on("project", "ok no no no -- ok", { ask: give("ProjectID") }),
  //                     starter write use read projectOwner other admin
  "createGrant by RunID": on("run", "ok no no no no -- ok", { ask: give("RunID"), deleted: "ok no no no no -- ok" }),
  //                          owner given other admin
  listGrants: lists("grant", "ok ok -- ok"),
  deleteGrant: on("grant", "ok no -- ok"),

  createSession: open(() => ({ body: { UserName: "admin", Password: "wrong" } })),
  deleteSession: open(),
  followEvents: everybody(),
  listAudit: administrators(),
  healthz: open(),
  readyz: open(),
  openapi: open(),
  docs: open(),
  // This table's requests come from other addresses; a separate test covers requests from this
  // machine.
  metrics: administrators(),
}

import type { OperationId } from "#contract"

/**
 * The rights at every endpoint, written by hand from the specification and from nothing in
 * `src/access`.
 *
 * To add an endpoint, add its line, by the operation's name in the contract's table:
 *
 * - `on(type, cells)`: the operation acts on one resource. One cell for each relation of that
 *   type, in the order of `relationsByType` below:
 *       `ok`  200
 *       `no`  they see the resource, but lack the right: 403
 *       `cf`  they have the right, but the resource's state forbids it: 409
 *       `--`  the resource is hidden: 404, the same answer as for an ID that never existed
 *       `xx`  refused before any lookup: 403, the same answer as for an ID that never existed
 *   A deleted resource is hidden (`--` in place of `ok` and `no`) unless `deleted` has other cells.
 *   The request is `?ID=` (PUT: a body with `ID`), unless `makeRequest` returns another.
 * - `everybody()`: all signed-in people. `administrators()`: 403 for everybody else. `open()`:
 *   needs no credential.
 * - `lists(type, cells)`: a list with paging, which contains (`ok`) or omits (`--`) resources.
 *
 * An operation that acts on resources of several types, or names them in several ways, has a line
 * for each: its name, then ` by ` and how.
 *
 * `needs: "write"` (the default if the method is not GET): a read-only credential gets 403 for any
 * resource.
 */
export const relationsByType = {
  image: ["owner", "write", "use", "read", "other", "admin"],
  data: ["owner", "write", "use", "read", "other", "admin"],
  project: ["owner", "write", "use", "read", "other", "admin"],
  run: ["starter", "write", "use", "read", "projectOwner", "other", "admin"],
  user: ["self", "other", "admin"],
  group: ["member", "other", "admin"],
  token: ["owner", "other", "admin"],
  session: ["owner", "other", "admin"],
  /** `owner`: of the resource of the grant. `given`: the grantee. */
  grant: ["owner", "given", "other", "admin"],
} as const

export type ResourceType = keyof typeof relationsByType
export type Relation = (typeof relationsByType)[ResourceType][number]
export type Cell = "ok" | "no" | "cf" | "--" | "xx"

export interface Request {
  /** Parameters of the query. */
  query?: Readonly<Record<string, string | number>>
  body?: object
}

/** The object that a request acts on, as far as requests name it. */
export interface ResourceRef {
  id: number
  /** A run's project. */
  projectId?: number
  /** A person's or a group's. */
  name?: string
}

interface Options {
  needs?: "read" | "write"
  makeRequest?: (resource: ResourceRef) => Request
}

export type Expectation =
  | ({ is: "on"; type: ResourceType; live: readonly Cell[]; deleted: readonly Cell[] } & Options)
  | ({ is: "lists"; type: ResourceType; live: readonly Cell[] } & Options)
  | ({ is: "everybody" | "administrators" | "open" } & Options)

function cellsOf(type: ResourceType, text: string): readonly Cell[] {
  const cells = text.split(" ") as Cell[]
  if (cells.length !== relationsByType[type].length)
    throw new TypeError(`${relationsByType[type].length} cells are needed for ${type}, got ${text}`)
  return cells
}

/** The operation that a line is about. */
export const operationOf = (row: string): OperationId => row.split(" ", 1)[0] as OperationId

const on = (type: ResourceType, live: string, options: Options & { deleted?: string } = {}): Expectation => {
  const deletedCells = live.replaceAll(/ok|no/g, "--")
  return { is: "on", type, ...options, live: cellsOf(type, live), deleted: cellsOf(type, options.deleted ?? deletedCells) }
}
const lists = (type: ResourceType, live: string): Expectation => ({ is: "lists", type, live: cellsOf(type, live) })
const everybody = (makeRequest?: Options["makeRequest"], options: Options = {}): Expectation => ({
  is: "everybody",
  ...(makeRequest ? { makeRequest } : {}),
  ...options,
})
const administrators = (makeRequest?: Options["makeRequest"]): Expectation => ({
  is: "administrators",
  ...(makeRequest ? { makeRequest } : {}),
})
const open = (makeRequest?: Options["makeRequest"]): Expectation => ({ is: "open", ...(makeRequest ? { makeRequest } : {}) })

let count = 0
/** A value that is never reused. */
const fresh = (prefix: string) => {
  count += 1
  return `${prefix}${count}`
}
const start = ({ id }: ResourceRef): Request => ({ body: { ProjectID: id } })
const grantOn =
  (field: string) =>
  ({ id }: ResourceRef): Request => ({ body: { [field]: id, UserName: "boss", Access: "read" } })

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
  startRun: on("project", "ok ok ok no -- ok", { makeRequest: start }),
  previewRun: on("project", "ok ok ok no -- ok", { makeRequest: start, needs: "read" }),

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
  updateUser: on("user", "no -- ok", { makeRequest: ({ id }) => ({ body: { ID: id, Comment: fresh("changed") } }) }),
  deleteUser: on("user", "xx xx ok"),

  //                          member other admin
  createGroup: administrators(() => ({ body: { GroupName: fresh("team") } })),
  readGroup: on("group", "ok -- ok"),
  listGroups: lists("group", "ok -- ok"),
  updateGroup: on("group", "xx xx ok"),
  deleteGroup: on("group", "xx xx ok"),

  //                          owner other admin
  createToken: everybody(() => ({ body: { Name: fresh("token") } })),
  createTokenCode: everybody(() => ({ body: { Name: fresh("program"), CodeChallenge: "c".repeat(43) } })),
  exchangeTokenCode: open(() => ({ body: { Code: "w".repeat(43), CodeVerifier: "w".repeat(43) } })),
  listTokens: lists("token", "ok -- --"),
  deleteToken: on("token", "ok -- --"),

  //                          owner write use read other admin
  createGrant: on("image", "ok no no no -- ok", { makeRequest: grantOn("ImageID") }),
  "createGrant by DataID": on("data", "ok no no no -- ok", { makeRequest: grantOn("DataID") }),
  "createGrant by ProjectID": on("project", "ok no no no -- ok", { makeRequest: grantOn("ProjectID") }),
  //                     starter write use read projectOwner other admin
  "createGrant by RunID": on("run", "ok no no no no -- ok", { makeRequest: grantOn("RunID"), deleted: "ok no no no no -- ok" }),
  //                          owner given other admin
  listGrants: lists("grant", "ok ok -- ok"),
  deleteGrant: on("grant", "ok no -- ok"),

  createSession: open(() => ({ body: { UserName: "admin", Password: "wrong" } })),
  deleteSession: open(),
  //                          owner other admin
  "deleteSession by ID": on("session", "ok -- ok"),
  listSessions: lists("session", "ok -- ok"),
  followEvents: everybody(),
  listAudit: administrators(),
  listStoredImages: administrators(),
  readSettings: administrators(),
  listIdle: administrators(() => ({ query: { Minutes: 60 } })),
  healthz: open(),
  readyz: open(),
  openapi: open(),
  docs: open(),
  // This table's requests come from other addresses; a separate test covers requests from this
  // machine.
  metrics: administrators(),
}

import { bounds } from "./bounds/index.ts"
import type { Endpoint } from "./endpoint.ts"
import type { Fields } from "./fields/field.ts"
import type { Structure } from "./fields/structure.ts"
import {
  allSessionsParam,
  deletedParam,
  enumParam,
  exactParam,
  followParam,
  idleMinutesParam,
  idParam,
  idsParam,
  isPublishParam,
  otherSessionsParam,
  pagingParams,
  personParam,
  pruneDaysParam,
  pruneSizeParam,
  type QueryParams,
  rankParam,
  requiredIdParam,
  scalarParams,
  sessionIdParam,
  sortParam,
  tailParam,
  timeParam,
  usageParams,
  userNameParam,
  wordsParam,
} from "./query.ts"
import { capacity, preview } from "./resources/capacity.ts"
import { dataFields, dataModel } from "./resources/data.ts"
import { grantFields, grantModel } from "./resources/grant.ts"
import { imageCheck, imageFields, imageModel, storedImage } from "./resources/image.ts"
import { auditEntry, health, inForce, readiness, serverEvent } from "./resources/installation.ts"
import {
  filesToken,
  groupFields,
  groupModel,
  newToken,
  session,
  signInFields,
  tokenCode,
  tokenCodeFields,
  tokenExchangeFields,
  tokenFields,
  tokenModel,
  userChangeFields,
  userFields,
  userModel,
  whoami,
} from "./resources/people.ts"
import { projectFields, projectModel } from "./resources/project.ts"
import { logLine, runStats } from "./resources/run-stats.ts"
import { idleRun, runningProject, runningProjectFields } from "./resources/running-project.ts"
import { projectTypes, runStateNames } from "./states.ts"

const filters = { ID: idsParam, UserName: userNameParam, IsPublish: isPublishParam, q: wordsParam, Deleted: deletedParam }
const none = {} as const satisfies QueryParams
const oneId = { ID: requiredIdParam } as const

type ResourceType = "image" | "data" | "project"

interface ResourceOptions<Q extends QueryParams, S extends Structure, F extends Fields, T extends ResourceType> {
  tag: Endpoint["tag"]
  path: string
  plural: string
  model: S
  type: T
  fields: F
  filters: Q
  either?: readonly (readonly string[])[]
  maxBody?: number
}

const nounOf = (type: ResourceType) => (type === "data" ? "dataset" : type)

function resource<const Q extends QueryParams, const S extends Structure, const F extends Fields, const T extends ResourceType>(
  options: ResourceOptions<Q, S, F, T>,
) {
  return { ...changes(options), ...reads(options) }
}

function changes<Q extends QueryParams, const S extends Structure, const F extends Fields, const T extends ResourceType>({
  tag,
  path,
  model,
  type,
  fields,
  either = [],
  maxBody,
}: ResourceOptions<Q, S, F, T>) {
  const one = `${type === "image" ? "an" : "a"} ${nounOf(type)}`
  const size = maxBody === undefined ? {} : { maxBody }
  return {
    create: {
      method: "POST",
      path,
      tag,
      summary: `Create ${one}`,
      query: none,
      body: { fields, mode: "create", either },
      answer: { one: model },
      permission: `${type}:create`,
      ...size,
    },
    update: {
      method: "PUT",
      path,
      tag,
      summary: `Change ${one}; absent fields keep their value`,
      query: none,
      body: { fields, mode: "update" },
      answer: { one: model },
      permission: `${type}:change`,
      ...size,
    },
    delete: {
      method: "DELETE",
      path,
      tag,
      summary: `Delete ${one}; it can be restored`,
      query: oneId,
      answer: { done: true },
      permission: `${type}:delete`,
    },
    restore: {
      method: "POST",
      path: `${path}/restore`,
      tag,
      summary: `Undo the deletion of ${one}`,
      query: oneId,
      answer: { one: model },
      permission: `${type}:restore`,
    },
  } as const satisfies Record<string, Endpoint>
}

function reads<const Q extends QueryParams, const S extends Structure, const F extends Fields, const T extends ResourceType>({
  tag,
  path,
  plural,
  model,
  type,
  fields,
  filters,
}: ResourceOptions<Q, S, F, T>) {
  return {
    list: {
      method: "GET",
      path: plural,
      tag,
      summary: `List ${nounOf(type)}s that the caller may see, newest first`,
      query: { ...filters, ...pagingParams },
      answer: { list: model },
      permission: `${type}:list`,
    },
    read: {
      method: "GET",
      path,
      tag,
      summary: `Read one ${nounOf(type)} by ID, or by other fields when they pick exactly one`,
      query: scalarParams(fields),
      answer: { one: model },
      permission: `${type}:read`,
    },
  } as const satisfies Record<string, Endpoint>
}

const image = resource({
  tag: "Images",
  path: "/image",
  plural: "/images",
  model: imageModel,
  type: "image",
  fields: imageFields,
  filters: { ...filters, Name: exactParam, sort: sortParam(["ID", "CreatedAt", "UpdatedAt", "Name"]) },
})
const data = resource({
  tag: "Datasets",
  path: "/data",
  plural: "/data",
  model: dataModel,
  type: "data",
  fields: dataFields,
  filters: {
    ...filters,
    Name: exactParam,
    Type: enumParam("Only this kind.", ["dir"]),
    sort: sortParam(["ID", "CreatedAt", "UpdatedAt", "Name"]),
  },
})
const project = resource({
  tag: "Projects",
  path: "/project",
  plural: "/projects",
  model: projectModel,
  type: "project",
  fields: projectFields,
  filters: {
    ...filters,
    ProjectName: exactParam,
    Type: enumParam("Only this type.", projectTypes),
    GroupName: exactParam,
    sort: sortParam(["ID", "CreatedAt", "UpdatedAt", "ProjectName"]),
  },
  either: [["Image", "ImageID"]],
  maxBody: bounds.texts.projectBodyBytes.value,
})

const { CreatedAt: _created, UpdatedAt: _updated, ...grantSearch } = grantFields
const grantQuery = scalarParams(grantSearch)

/**
 * The API as one table. Names are the operations; handlers, client methods and the description go
 * by them.
 */
export const endpoints = {
  createImage: image.create,
  updateImage: image.update,
  deleteImage: image.delete,
  restoreImage: image.restore,
  readImage: image.read,
  listImages: image.list,

  checkImage: {
    method: "GET",
    path: "/image/check",
    tag: "Images",
    summary: "Describe the image as the engine has it, without fetching it",
    query: oneId,
    answer: { one: imageCheck },
    permission: "image:check",
  },
  pullImage: {
    method: "POST",
    path: "/image/pull",
    tag: "Images",
    summary: "Fetch the image now, with `image.progress` events; answers when it is there, with `Prefer: respond-async` at once",
    query: oneId,
    headers: ["Prefer"],
    answer: { one: imageCheck },
    permission: "image:pull",
  },

  listStoredImages: {
    method: "GET",
    path: "/stored_images",
    tag: "Images",
    summary: "List the images on the engine's disk, and what pruning by these rules would remove; removes nothing",
    query: { Days: pruneDaysParam, MaxSize: pruneSizeParam, ...pagingParams },
    answer: { list: storedImage },
    permission: "storedImage:list",
  },

  createData: data.create,
  updateData: data.update,
  deleteData: data.delete,
  restoreData: data.restore,
  listData: {
    ...data.list,
    summary: "Read one dataset by ID alone; otherwise list datasets that the caller may see, newest first",
    answer: { oneOrList: dataModel },
  },

  createProject: project.create,
  updateProject: project.update,
  deleteProject: project.delete,
  restoreProject: project.restore,
  readProject: project.read,
  listProjects: project.list,

  copyProject: {
    method: "POST",
    path: "/project/copy",
    tag: "Projects",
    summary: "Copy the project; the copy belongs to the caller and has the same references",
    query: oneId,
    answer: { one: projectModel },
    permission: "project:copy",
  },
  releaseProject: {
    method: "POST",
    path: "/project/release",
    tag: "Projects",
    summary: "Release the owner's code as it is now: the code directory of others who start the project begins as a copy of it",
    query: oneId,
    answer: { one: projectModel },
    permission: "project:release",
  },

  startRun: {
    method: "POST",
    path: "/running_project",
    tag: "Running projects",
    summary: "Start a project; answers when it is ready or has failed",
    query: none,
    headers: ["Prefer", "Idempotency-Key"],
    body: { fields: runningProjectFields, mode: "create", either: [["Project", "ProjectID"]] },
    answer: { one: runningProject },
    permission: "project:start",
  },
  repeatRun: {
    method: "POST",
    path: "/running_project/repeat",
    tag: "Running projects",
    summary: "Start a run again with the same amounts, image and mounts, as far as its person may still use them; answers as a start does",
    query: oneId,
    headers: ["Prefer", "Idempotency-Key"],
    answer: { one: runningProject },
    permission: "run:repeat",
  },
  previewRun: {
    method: "POST",
    path: "/preview",
    tag: "Running projects",
    summary: "Predict the outcome of a start with this body; nothing is started, and the refusals are those of a start",
    query: none,
    body: { fields: runningProjectFields, mode: "create", either: [["Project", "ProjectID"]] },
    answer: { one: preview },
    permission: "run:preview",
  },
  stopRun: {
    method: "DELETE",
    path: "/running_project",
    tag: "Running projects",
    summary: "Stop a run; answers when its container is removed",
    query: { ID: idParam, ProjectID: idParam },
    answer: { done: true },
    permission: "run:stop",
  },
  readRun: {
    method: "GET",
    path: "/running_project",
    tag: "Running projects",
    summary: "Read one run by ID, or by other fields when they pick exactly one",
    query: scalarParams(runningProjectFields),
    answer: { one: runningProject },
    permission: "run:read",
  },
  listRuns: {
    method: "GET",
    path: "/running_projects",
    tag: "Running projects",
    summary: "List runs that are queued, starting or running; with State=ended those that have ended",
    query: {
      ID: idsParam,
      UserName: userNameParam,
      ProjectID: idParam,
      State: enumParam("Only this state; `ended` is everything that is over.", runStateNames),
      sort: sortParam(["ID", "CreatedAt", "UpdatedAt"]),
      ...pagingParams,
    },
    answer: { list: runningProject },
    permission: "run:list",
  },

  readCapacity: {
    method: "GET",
    path: "/capacity",
    tag: "Running projects",
    summary: "Read the nodes' capacity, what is free, how much of it the caller may still use, and the defaults of starts",
    query: none,
    answer: { one: capacity },
    permission: "capacity:read",
  },

  listIdle: {
    method: "GET",
    path: "/idle",
    tag: "Running projects",
    summary: "List the runs that an idle rule of so many minutes would end now, newest first; ends nothing",
    query: { Minutes: idleMinutesParam, ...pagingParams },
    answer: { list: idleRun },
    permission: "idle:list",
  },

  runLogs: {
    method: "GET",
    path: "/running_project/logs",
    tag: "Running projects",
    summary: "The run's output, oldest first, as JSON lines `{time, stream, text}`; kept after its end",
    query: {
      ID: requiredIdParam,
      tail: tailParam,
      since: timeParam("Only what is younger than this time."),
      follow: followParam,
      Rank: rankParam,
    },
    answer: { lines: logLine },
    permission: "run:logs",
  },

  runStats: {
    method: "GET",
    path: "/running_project/stats",
    tag: "Running projects",
    summary: "Read what the run uses and used, also after its end; unknown figures are null",
    query: { ...oneId, ...usageParams },
    answer: { one: runStats },
    permission: "run:stats",
  },
  keepRun: {
    method: "POST",
    path: "/running_project/keep",
    tag: "Running projects",
    summary: "Reset the run's idle time, as if it had been used just now",
    query: oneId,
    answer: { one: runningProject },
    permission: "run:keep",
  },

  whoami: {
    method: "GET",
    path: "/whoami",
    tag: "People and credentials",
    summary: "Read who the caller is",
    query: none,
    answer: { one: whoami },
    permission: "self:read",
  },
  createUser: {
    method: "POST",
    path: "/user",
    tag: "People and credentials",
    summary: "Create an account",
    query: none,
    body: { fields: userFields, mode: "create" },
    answer: { one: userModel },
    permission: "user:create",
  },
  updateUser: {
    method: "PUT",
    path: "/user",
    tag: "People and credentials",
    summary: "Change an account; a person may change their own password (CurrentPassword needed)",
    query: none,
    body: { fields: userChangeFields, mode: "update" },
    answer: { one: userModel },
    permission: "user:change",
  },
  deleteUser: {
    method: "DELETE",
    path: "/user",
    tag: "People and credentials",
    summary: "Delete an account: its runs are stopped; its images, datasets and projects stay",
    query: oneId,
    answer: { done: true },
    permission: "user:delete",
  },
  readUser: {
    method: "GET",
    path: "/user",
    tag: "People and credentials",
    summary: "Read one account",
    query: { ID: idParam, UserName: exactParam },
    answer: { one: userModel },
    permission: "user:read",
  },
  listUsers: {
    method: "GET",
    path: "/users",
    tag: "People and credentials",
    summary: "List accounts, newest first",
    query: { ID: idsParam, UserName: exactParam, q: wordsParam, sort: sortParam(["ID", "CreatedAt", "UpdatedAt"]), ...pagingParams },
    answer: { list: userModel },
    permission: "user:list",
  },
  createGroup: {
    method: "POST",
    path: "/group",
    tag: "People and credentials",
    summary: "Create a group",
    query: none,
    body: { fields: groupFields, mode: "create" },
    answer: { one: groupModel },
    permission: "group:create",
  },
  updateGroup: {
    method: "PUT",
    path: "/group",
    tag: "People and credentials",
    summary: "Change a group",
    query: none,
    body: { fields: groupFields, mode: "update" },
    answer: { one: groupModel },
    permission: "group:change",
  },
  deleteGroup: {
    method: "DELETE",
    path: "/group",
    tag: "People and credentials",
    summary: "Delete a group",
    query: oneId,
    answer: { done: true },
    permission: "group:delete",
  },
  readGroup: {
    method: "GET",
    path: "/group",
    tag: "People and credentials",
    summary: "Read one group",
    query: { ID: idParam, GroupName: exactParam },
    answer: { one: groupModel },
    permission: "group:read",
  },
  listGroups: {
    method: "GET",
    path: "/groups",
    tag: "People and credentials",
    summary: "List groups: for members their own, for administrators all",
    query: { ID: idsParam, GroupName: exactParam, q: wordsParam, sort: sortParam(["ID", "CreatedAt", "UpdatedAt"]), ...pagingParams },
    answer: { list: groupModel },
    permission: "group:list",
  },
  createToken: {
    method: "POST",
    path: "/token",
    tag: "People and credentials",
    summary: "Create a token for oneself; its secret is answered once",
    query: none,
    body: { fields: tokenFields, mode: "create" },
    answer: { one: newToken },
    permission: "token:create",
  },
  listTokens: {
    method: "GET",
    path: "/tokens",
    tag: "People and credentials",
    summary: "List one's own tokens",
    query: { ...pagingParams },
    answer: { list: tokenModel },
    permission: "token:list",
  },
  deleteToken: {
    method: "DELETE",
    path: "/token",
    tag: "People and credentials",
    summary: "Revoke one of one's own tokens",
    query: oneId,
    answer: { done: true },
    permission: "token:delete",
  },
  createTokenCode: {
    method: "POST",
    path: "/token/code",
    tag: "People and credentials",
    summary: "Allow a program a token: it exchanges the code for it, once, within a minute",
    query: none,
    body: { fields: tokenCodeFields, mode: "create" },
    answer: { one: tokenCode },
    permission: "token:create",
  },
  exchangeTokenCode: {
    method: "POST",
    path: "/token/exchange",
    tag: "People and credentials",
    summary: "Exchange a code, with the verifier of its challenge, for the token that its person allowed",
    query: none,
    body: { fields: tokenExchangeFields, mode: "create" },
    answer: { one: newToken },
    permission: "none",
  },
  createGrant: {
    method: "POST",
    path: "/grant",
    tag: "People and credentials",
    summary: "Grant a person or a group a right on an image, dataset, project or run; replaces an earlier grant to the same one",
    query: none,
    body: {
      fields: grantFields,
      mode: "create",
      either: [
        ["ImageID", "DataID", "ProjectID", "RunID"],
        ["UserName", "GroupName"],
      ],
    },
    answer: { one: grantModel },
    permission: "grant:create",
  },
  deleteGrant: {
    method: "DELETE",
    path: "/grant",
    tag: "People and credentials",
    summary: "Revoke a grant, by ID or by other fields when they pick exactly one",
    query: grantQuery,
    answer: { done: true },
    permission: "grant:delete",
  },
  listGrants: {
    method: "GET",
    path: "/grants",
    tag: "People and credentials",
    summary: "List grants on one's own resources, and those to oneself or one's groups, newest first",
    query: { ...grantQuery, ID: idsParam, ...pagingParams },
    answer: { list: grantModel },
    permission: "grant:list",
  },
  createSession: {
    method: "POST",
    path: "/session",
    tag: "People and credentials",
    summary: "Sign in: sets the browser's cookie",
    query: none,
    body: { fields: signInFields, mode: "create" },
    answer: { one: whoami },
    permission: "none",
  },
  deleteSession: {
    method: "DELETE",
    path: "/session",
    tag: "People and credentials",
    summary:
      "Sign out: ends the browser's session; by any credential that may write, one session with ID, the others with Others=1, all with All=1",
    query: { ID: sessionIdParam, Others: otherSessionsParam, All: allSessionsParam, UserName: personParam },
    answer: { done: true },
    permission: "none",
  },
  listSessions: {
    method: "GET",
    path: "/sessions",
    tag: "People and credentials",
    summary: "List the browser sessions that last: one's own, for administrators everybody's, newest first",
    query: { UserName: userNameParam, ...pagingParams },
    answer: { list: session },
    permission: "session:list",
  },

  createFilesToken: {
    method: "POST",
    path: "/files-token",
    tag: "People and credentials",
    summary: "Create a Bearer token for the files address only; it lasts 5 minutes",
    query: none,
    answer: { one: filesToken },
    permission: "self:filesToken",
  },
  listAudit: {
    method: "GET",
    path: "/audit",
    tag: "Installation",
    summary: "List the audit, newest first",
    query: {
      UserName: exactParam,
      Action: exactParam,
      from: timeParam("Only at or after this time."),
      to: timeParam("Only at or before this time."),
      ...pagingParams,
    },
    answer: { list: auditEntry },
    permission: "audit:list",
  },

  readSettings: {
    method: "GET",
    path: "/settings",
    tag: "Installation",
    summary: "Read the settings in force; secrets are hidden",
    query: none,
    answer: { one: inForce },
    permission: "settings:read",
  },

  followEvents: {
    method: "GET",
    path: "/events",
    tag: "Installation",
    summary: "Follow changes of resources that the caller may see, as server-sent events; with `Last-Event-ID` missed events come first",
    query: none,
    answer: { events: serverEvent },
    permission: "events:read",
  },

  healthz: {
    method: "GET",
    path: "/healthz",
    tag: "Installation",
    summary: "Whether the process answers",
    query: none,
    answer: { one: health },
    permission: "none",
  },
  readyz: {
    method: "GET",
    path: "/readyz",
    tag: "Installation",
    summary: "Whether store, engine and files can be used",
    query: none,
    answer: { one: readiness },
    permission: "none",
  },
  openapi: {
    method: "GET",
    path: "/openapi.json",
    tag: "Installation",
    summary: "This description",
    query: none,
    answer: { description: true },
    permission: "none",
  },
  docs: {
    method: "GET",
    path: "/docs",
    tag: "Installation",
    summary: "This description as a page to read",
    query: none,
    answer: { text: "text/html; charset=utf-8" },
    permission: "none",
  },
  metrics: {
    method: "GET",
    path: "/metrics",
    tag: "Installation",
    summary:
      "Figures of this process as OpenMetrics text, from the same machine or for administrators; status 499 counts answers that were cut short",
    query: none,
    answer: { text: "application/openmetrics-text; version=1.0.0; charset=utf-8" },
    permission: "metrics:read",
    fromLoopback: true,
  },
} as const satisfies Record<string, Endpoint>

/** The name of an operation, which OpenAPI calls its `operationId`. */
export type OperationId = keyof typeof endpoints
export const operationIds = Object.keys(endpoints) as OperationId[]

export type { Answer, Body, List, QueryOf } from "./answer.ts"
export { type Bound, type BoundUnit, boundSections, bounds } from "./bounds/index.ts"
export { type FailureCode, failureStatus } from "./codes.ts"
export type { Endpoint, HttpMethod } from "./endpoint.ts"
export { Failure, type FailureBody, type FailureOptions, readFailure } from "./failure.ts"
export { BodyChanges, parseRequestBody } from "./fields/body.ts"
export { type AnswerValues, type BodyValues, describeValue, type Fields, invalidField, type JsonSchema } from "./fields/field.ts"
export type { Structure, StructureValue } from "./fields/structure.ts"
export { checkPlainText, isPlainText } from "./fields/text.ts"
export { CommandError, type Placeholders, parseCommand, substitutePlaceholders } from "./formats/command.ts"
export { parseEnv } from "./formats/env.ts"
export { accountNameError, parsePort } from "./formats/names.ts"
export {
  defaultRegistry,
  formatOciReference,
  normalizeOciReference,
  type OciReference,
  ociReferenceError,
  parseOciReference,
} from "./formats/oci-reference.ts"
export { defaultMountPaths, type MountPlan, mountPathError, normalizePath, planMounts, slugify } from "./formats/paths.ts"
export { openApi } from "./openapi.ts"
export {
  defaultPageSize,
  maxPageSize,
  nearestName,
  parseQuery,
  type QueryParam,
  type QueryParams,
  type QueryValues,
  type Sort,
} from "./query.ts"
export {
  type ReasonCode,
  type ReasonTopic,
  reasonMessages,
  reasonStatus,
  reasonTexts,
  withHint,
} from "./reasons.ts"
export { describeType, type OperationReference, operationsByTag, type ReferenceRow } from "./reference.ts"
export type { Capacity, Preview } from "./resources/capacity.ts"
export { type Data, type DataPart, dataFields } from "./resources/data.ts"
export { type Grant, grantFields } from "./resources/grant.ts"
export { type Image, type ImageCheck, type ImagePart, imageFields } from "./resources/image.ts"
export { type AuditEntry, type Done, type InForce, type Readiness, readinessAnswer, type ServerEvent } from "./resources/installation.ts"
export {
  defaultLimits,
  type EffectiveLimits,
  type Group,
  groupFields,
  type LimitName,
  type Limits,
  limitNames,
  type Session,
  signInFields,
  type Token,
  tokenFields,
  type User,
  unlimited,
  unsetLimits,
  userFields,
  type Whoami,
} from "./resources/people.ts"
export { type Project, type ProjectData, type ProjectDataInput, projectFields } from "./resources/project.ts"
export type { Progress, Reason } from "./resources/run-parts.ts"
export type { LogLine, RunStats } from "./resources/run-stats.ts"
export { type RunningProject, runningProjectFields } from "./resources/running-project.ts"
export { canTransition, isLive, type ProjectType, projectTypes, type RunState, runStateNames, runStates } from "./states.ts"
export { endpoints, type OperationId, operationIds } from "./table.ts"
